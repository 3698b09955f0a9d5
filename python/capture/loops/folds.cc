// Functions of whole arrays in native loops: reductions, products, arrays joined or copied.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/builder.h"
#include "capture/objects/ufuncs.h"
#include "ops/registry.h"

namespace weft::capture {

namespace {

bool is_written_out(const LoopValue& value) {
  return value.kind == LoopKind::List || value.kind == LoopKind::Tuple;
}

// Functions of NumPy's whose results of a list of numbers are those of the array of them, to the bit.
bool takes_numbers(const std::string& name) {
  static const auto& names =
      *new std::set<std::string>{"argmax", "argmin", "any", "all", "searchsorted", "count_nonzero"};
  return names.count(name) > 0;
}

std::string product_of(const std::vector<std::string>& sizes) {
  std::string text;
  for (const std::string& size : sizes) text += (text.empty() ? "" : " * ") + size;
  return text;
}

// Functions of complex arrays in native loops.
bool takes_complex(const std::string& name) {
  static const auto& names = *new std::set<std::string>{
      "copy",        "absolute",    "negative", "square", "conjugate", "add",   "subtract",
      "multiply",    "true_divide", "divide",   "equal",  "not_equal", "where", "dot",
      "concatenate", "hstack",      "vstack",   "flip",   "matmul"};
  return names.count(name) != 0;
}

}  // namespace

// A reduction of what is in no array, without one. Unbound where there is no such form.
LoopValue LoopBuilder::fused_fold(const std::string& name, const LoopValue& value) {
  const auto give = [&](DType dtype, const std::string& function) {
    return loop_numpy(dtype, temporary(c_type(dtype), of_elements(function, value)));
  };
  if (name == "any" || name == "all") return give(DType::Bool, name + "_of_elements");
  if (name == "count_nonzero") return give(DType::I64, "count_elements");
  if (name != "sum") return {};
  const DType total = is_floating(value.dtype)                                ? value.dtype
                      : value.dtype != DType::Bool && !is_signed(value.dtype) ? DType::U64
                                                                              : DType::I64;
  return give(total, fmt::format("sum_of_elements<{}>", c_type(total)));
}

// The variance or standard deviation.
LoopValue LoopBuilder::deviation(const std::string& name, const LoopValue& value) {
  if (value.dtype != DType::F64 || num_dims(value) != 1)
    throw LoopUnsupported{"the variance of these numbers"};
  const LoopValue view = as_view(materialized(value));
  parts_.push_back(view);
  const LoopValue apart = pending("subtract", {view, fold("mean", view)});
  const LoopValue total = fused_fold("sum", pending("square", {apart}));
  const std::string variance = temporary("f64", fmt::format("{} / (f64){}", total.expr, view.size(0).expr));
  if (name == "var") return loop_numpy(DType::F64, variance);
  return loop_numpy(DType::F64, temporary("f64", fmt::format("square_root({})", variance)));
}

// A reduction over all elements.
LoopValue LoopBuilder::fold(const std::string& name, LoopValue value) {
  if (value.operation == kChosen) value = materialized(value);
  if (name == "var" || name == "std") return deviation(name, value);
  const bool is_test = name == "any" || name == "all" || name == "count_nonzero";
  if (num_dims(value) == 1 && value.dtype != DType::F16 && (is_test || value.kind == LoopKind::Pending)) {
    LoopValue result = fused_fold(name, is_array(value) ? as_view(value) : value);
    if (result.kind != LoopKind::Unbound) return result;
  }
  value = materialized(value, num_dims(value) > 1);
  const LoopValue view = as_view(value);
  const std::string type = element_type(view.dtype);
  const std::string count = view.dims == 1 ? view.size(0).expr : temporary("i64", product_of(shape_of(view)));
  const std::string operands = fmt::format("({}, (const {}*){}, {})", count, type, view.items[0].expr,
                                           view.dims == 1 ? view.stride(0).expr : "1L");
  block_has_arrays_ = true;
  const auto give = [&](DType dtype, const std::string& expr) {
    return loop_numpy(dtype, temporary(c_type(dtype), expr));
  };
  if (is_test) {
    const LoopValue flat = loop_view(view.dtype, view.index, view.items[0].expr, {loop_int(count, true)},
                                     {view.dims == 1 ? view.stride(0) : loop_known_int(1)});
    return fused_fold(name, flat);
  }
  if (name == "mean" && is_integral(view.dtype)) {
    require(fmt::format("{} > 0", count));
    return give(DType::F64, fmt::format("sum_of<f64>{} / (f64){}", operands, count));
  }
  if (name == "sum" || name == "mean") {
    if (view.dtype == DType::F16 || (name == "mean" && view.dtype != DType::F64))
      throw LoopUnsupported{"the mean of these numbers"};
    const DType total = is_floating(view.dtype)                               ? view.dtype
                        : view.dtype != DType::Bool && !is_signed(view.dtype) ? DType::U64
                                                                              : DType::I64;
    const std::string call = fmt::format("sum_of<{}>{}", c_type(total), operands);
    if (name == "sum") return give(total, call);
    require(fmt::format("{} > 0", count));
    return give(total, fmt::format("{} / (f64){}", call, count));
  }
  if (view.dtype == DType::Bool) throw LoopUnsupported{"an extremum of bools"};
  require(fmt::format("{} > 0", count));
  const char* largest = name == "max" || name == "argmax" ? "true" : "false";
  if (name == "argmax" || name == "argmin")
    return give(DType::I64, fmt::format("position_of<{}>{}", largest, operands));
  return give(view.dtype, fmt::format("extremum_of<{}>{}", largest, operands));
}

// A reduction of two dimensions along one of them.
LoopValue LoopBuilder::fold_axis(const std::string& name, const LoopValue& value, int64_t axis) {
  if (num_dims(value) == 1 && (axis == 0 || axis == -1)) return fold(name, value);
  if (name == "mean" && value.dtype == DType::F64 && num_dims(value) == 2 && axis >= -2 && axis <= 1) {
    const LoopValue source = as_view(materialized(value));
    const std::string count = source.size(static_cast<int>(axis < 0 ? axis + 2 : axis)).expr;
    require(fmt::format("{} > 0", count));
    const LoopValue total = fold_axis("sum", source, axis);
    return pending("true_divide", {total, loop_numpy(DType::F64, fmt::format("(f64){}", count))});
  }
  if (num_dims(value) != 2 || axis < -2 || axis > 1) throw LoopUnsupported{"a reduction along this axis"};
  const int reduced = static_cast<int>(axis < 0 ? axis + 2 : axis), kept = 1 - reduced;
  const LoopValue view = as_view(materialized(value));
  parts_.push_back(view);
  if (view.dtype == DType::Bool || name == "mean") throw LoopUnsupported{"a reduction along an axis"};
  if (name != "sum") require(fmt::format("{} > 0", view.size(reduced).expr));
  const bool positions = name == "argmax" || name == "argmin";
  const char* largest = name == "max" || name == "argmax" ? "true" : "false";
  const DType total = is_floating(view.dtype) ? view.dtype : is_signed(view.dtype) ? DType::I64 : DType::U64;
  const DType dtype = positions ? DType::I64 : name == "sum" ? total : view.dtype;
  const std::string type = element_type(view.dtype);
  const std::string operands =
      fmt::format("{}, {}, {}, {}, (const {}*){}", view.size(reduced).expr, view.stride(reduced).expr,
                  view.size(kept).expr, view.stride(kept).expr, type, view.items[0].expr);
  const LoopValue result = allocated(dtype, {view.size(kept).expr});
  block_has_arrays_ = true;
  if (positions) {
    const LoopValue best = allocated(view.dtype, {view.size(kept).expr});
    emit(fmt::format("positions_along_axis<{}>({}, {}, {});", largest, operands, best.items[0].expr,
                     result.items[0].expr));
  } else {
    const std::string how = name == "sum" ? "Sum" : fmt::format("Extremum<{}>", largest);
    emit(fmt::format("fold_axis<{}>({}, {});", how, operands, result.items[0].expr));
  }
  return result;
}

// a @ b
LoopValue LoopBuilder::product(const LoopValue& a, const LoopValue& b) {
  if (!is_arraylike(a) || !is_arraylike(b)) throw LoopUnsupported{"a product with a number"};
  if (a.dtype != b.dtype) throw LoopUnsupported{"a product of arrays of different types"};
  const bool is_complex = a.dtype == DType::C128;
  if (num_dims(a) == 1 && num_dims(b) == 1 && a.dtype != DType::Bool && !is_complex &&
      (a.kind == LoopKind::Pending || b.kind == LoopKind::Pending || !is_floating(a.dtype))) {
    require_equal_sizes(shape_of(a)[0], shape_of(b)[0]);
    const LoopValue products = pending("multiply", {a, b});
    return loop_numpy(a.dtype,
                      temporary(c_type(a.dtype),
                                of_elements(fmt::format("sum_of_elements<{}>", c_type(a.dtype)), products)));
  }
  if (a.dtype == DType::F16 || a.dtype == DType::Bool) throw LoopUnsupported{"a product of these numbers"};
  const LoopValue x = as_view(materialized(a)), y = as_view(materialized(b));
  if (x.dims > 2 || y.dims > 2) throw LoopUnsupported{"a product of many matrices"};
  parts_.insert(parts_.end(), {x, y});
  block_has_arrays_ = true;
  const std::string inner = x.size(x.dims - 1).expr;
  require_equal_sizes(inner, y.size(0).expr);
  const std::string type = c_type(x.dtype);
  if (x.dims == 1 && y.dims == 1 && is_complex) throw LoopUnsupported{"a product of complex vectors"};
  if (x.dims == 1 && y.dims == 1)
    return loop_numpy(
        x.dtype, temporary(type, fmt::format("dot_of<{}>({}, {}, {}, {}, {})", type, inner, x.items[0].expr,
                                             x.stride(0).expr, y.items[0].expr, y.stride(0).expr)));
  std::vector<std::string> sizes;
  const std::string rows = x.dims == 2 ? x.size(0).expr : "1L", columns = y.dims == 2 ? y.size(1).expr : "1L";
  if (x.dims == 2) sizes.push_back(rows);
  if (y.dims == 2) sizes.push_back(columns);
  const LoopValue result = allocated(x.dtype, sizes);
  const std::string name = fresh_name("m");
  emit(fmt::format("const i64 {}_sizes[] = {{{}, {}, {}}};", name, rows, columns, inner));
  emit(fmt::format("const i64 {}_x[] = {{{}, {}}}, {}_y[] = {{{}, {}}};", name,
                   x.dims == 2 ? x.stride(0).expr : "0", x.stride(x.dims - 1).expr, name, y.stride(0).expr,
                   y.dims == 2 ? y.stride(1).expr : "1"));
  const std::string operands = fmt::format("{0}_sizes, {1}, {0}_x, {2}, {0}_y, {3}", name, x.items[0].expr,
                                           y.items[0].expr, result.items[0].expr);
  if (is_floating(x.dtype) || is_complex)
    require(fmt::format("product_of<{}>({}, {})", type, function("matrix_product_" + type), operands));
  else
    emit(fmt::format("product_of_few<{}>({});", type, operands));
  return result;
}

// numpy.roll: read where it is used, from its first element on.
LoopValue LoopBuilder::rolled(const LoopValue& array, const LoopValue& shift, int64_t axis) {
  const int dims = num_dims(array);
  if (axis < -dims || axis >= dims || shift.kind != LoopKind::Int)
    throw LoopUnsupported{"numpy.roll of these"};
  const int64_t d = axis < 0 ? axis + dims : axis;
  bool is_apart = array.operation != kRoll;  // no roll yet, or one along this axis
  for (const LoopValue* at = &array; at->operation == kRoll; at = &at->items[0])
    is_apart = is_apart || at->items[2].known == d;
  LoopValue result;
  result.kind = LoopKind::Pending;
  result.operation = kRoll;
  result.dtype = result.compute = array.dtype;
  result.items = {is_apart ? as_view(materialized(array)) : array, shift, loop_known_int(d)};
  result.sizes = shape_of(result.items[0]);
  const std::string& size = result.sizes[static_cast<size_t>(d)];
  result.expr = temporary("i64", fmt::format("{0} > 0 ? ({0} - {1} % {0}) % {0} : 0", size, shift.expr));
  result.object = kept_function("numpy", "roll");
  block_has_arrays_ = true;
  return result;
}

// numpy.array of a list of numbers of one type, or of such lists.
LoopValue LoopBuilder::array_of_numbers(const LoopValue& list) {
  if (list.items.empty()) throw LoopUnsupported{"numpy.array of these"};
  std::vector<std::string> sizes = {fmt::format("{}L", list.items.size())};
  std::vector<LoopValue> numbers = list.items;
  if (is_written_out(list.items[0])) {
    const size_t columns = list.items[0].items.size();
    sizes.push_back(fmt::format("{}L", columns));
    numbers.clear();
    for (const LoopValue& row : list.items) {
      if (!is_written_out(row) || row.items.size() != columns || columns == 0)
        throw LoopUnsupported{"numpy.array of these"};
      numbers.insert(numbers.end(), row.items.begin(), row.items.end());
    }
  }
  DType dtype = DType::F64;
  for (const LoopValue& item : numbers) {
    if (!item.is_number() || item.kind == LoopKind::Bool) throw LoopUnsupported{"numpy.array of these"};
    const DType own = as_numpy_scalar(item).dtype;
    const bool are_wide = itemsize(own) == 8 && itemsize(dtype) == 8 && is_signed(own) && is_signed(dtype);
    if (&item != &numbers[0] && own != dtype && !are_wide)
      throw LoopUnsupported{"numpy.array of different types"};
    dtype = &item == &numbers[0] || own == DType::F64 ? own : dtype;  // of ints and floats: floats
  }
  const LoopValue result = allocated(dtype, sizes);
  for (size_t i = 0; i < numbers.size(); ++i)
    emit(fmt::format("{}[{}] = {};", result.items[0].expr, i, numbers[i].expr));
  block_has_arrays_ = true;
  return result;
}

LoopValue LoopBuilder::outer(const std::string& ufunc, const LoopValue& a, const LoopValue& b) {
  if (!is_arraylike(a) || !is_arraylike(b) || num_dims(a) != 1 || num_dims(b) != 1)
    throw LoopUnsupported{"an outer product of these"};
  const LoopValue x = as_view(materialized(a)), y = as_view(materialized(b));
  parts_.insert(parts_.end(), {x, y});
  const LoopValue one = loop_known_int(1), none = loop_int("0L");
  return pending(ufunc,
                 {loop_view(x.dtype, x.index, x.items[0].expr, {x.size(0), one}, {x.stride(0), none}),
                  loop_view(y.dtype, y.index, y.items[0].expr, {one, y.size(0)}, {none, y.stride(0)})});
}

// NumPy's function or method of that name.
// Where one number belongs in a sorted array.
bool LoopBuilder::call_searchsorted(const std::vector<LoopValue>& args) {
  const bool has_side = args.size() == 3;
  if ((args.size() != 2 && !has_side) || !is_array(args[0]) || num_dims(args[0]) != 1) return false;
  if (has_side && (args[2].kind != LoopKind::Const || !PyUnicode_CheckExact(args[2].object))) return false;
  const std::string side = has_side ? utf8(args[2].object) : "left";
  if (side != "left" && side != "right") return false;
  const LoopValue& key = args[1];
  const DType dtype = args[0].dtype;
  const bool is_int = key.kind == LoopKind::Int || (key.kind == LoopKind::Numpy && key.dtype == DType::I64);
  const bool of_floats = dtype == DType::F64 && (key.kind == LoopKind::Float ||
                                                 (key.kind == LoopKind::Numpy && key.dtype == DType::F64));
  if (!of_floats && !(dtype == DType::I64 && is_int)) return false;
  const LoopValue view = as_view(args[0]);
  block_has_arrays_ = true;
  note_read(view);
  push(loop_numpy(DType::I64,
                  temporary("i64", fmt::format("position_among<{}>({}, (const {}*){}, {}, {})",
                                               side == "right", view.size(0).expr, c_type(dtype),
                                               view.items[0].expr, view.stride(0).expr, key.expr))));
  return true;
}

bool LoopBuilder::call_array(const std::string& name, std::vector<LoopValue> args) {
  if (takes_numbers(name))
    for (LoopValue& arg : args)
      if (is_written_out(arg)) arg = array_of_numbers(arg);
  for (const LoopValue& arg : args)
    if (is_arraylike(arg) && arg.dtype == DType::C128 && !takes_complex(name))
      throw LoopUnsupported{"a function of complex arrays"};
  if (name == "searchsorted") return call_searchsorted(args);
  const bool one = args.size() == 1 && is_arraylike(args[0]);
  if (one && (name == "count_nonzero" || name == "var" || name == "std"))
    return push(fold(name, args[0])), true;
  if (!args.empty() && is_fold(name) && is_arraylike(args[0]))
    return push(reduction(name, args, nullptr)), true;
  if (args.size() == 2 && name == "outer") return push(outer("multiply", args[0], args[1])), true;
  if (args.size() == 3 && name == "outer" && args[0].kind == LoopKind::Const)
    return push(outer(plain_name(args[0].object), args[1], args[2])), true;
  if (args.size() == 1 && name == "array" && is_written_out(args[0]))
    return push(array_of_numbers(args[0])), true;
  if (one && name == "norm" && is_floating(args[0].dtype)) return push(norm(args[0])), true;
  if (name == "clip" && args.size() == 3 && is_arraylike(args[0]))
    return push(clipped(std::move(args))), true;
  if (one && (name == "round" || name == "around") && is_floating(args[0].dtype))
    return push(pending("rint", std::move(args))), true;
  if (one && name == "copy") return push(in_new_memory(args[0], is_in_fortran_order(args[0]))), true;
  if (args.size() == 2 && (name == "dot" || name == "matmul")) {
    if (!is_arraylike(args[0]) || !is_arraylike(args[1])) return false;
    return push(product(args[0], args[1])), true;
  }
  if ((name == "concatenate" || name == "hstack" || name == "vstack") &&
      (args.size() == 1 || (name == "concatenate" && args.size() == 2 && args[1].known)))
    return push(joined(name, args[0], args.size() == 2 ? *args[1].known : 0)), true;
  if (name == "flip" && (one || (args.size() == 2 && is_arraylike(args[0]) && args[1].known)))
    return push(flipped(args[0], one ? std::nullopt : args[1].known)), true;
  if (name == "roll" && args.size() == 2 && is_arraylike(args[0]) && num_dims(args[0]) == 1)
    return push(rolled(args[0], args[1], 0)), true;
  if (name == "roll" && args.size() == 3 && is_arraylike(args[0]) && args[2].known)
    return push(rolled(args[0], args[1], *args[2].known)), true;
  if (one && name == "sign") return push(sign(args[0])), true;
  const char* op = name == "where" ? "where" : operator_of_ufunc(name);
  if (!op) return false;
  const auto& params = ops::get_op(op).params;
  const auto wanted =
      std::count_if(params.begin(), params.end(), [](const ops::Param& p) { return p.is_tensor(); });
  if (static_cast<std::ptrdiff_t>(args.size()) != wanted) return false;
  push(pending(name, std::move(args)));
  return true;
}

}  // namespace weft::capture
