// Views in native loops: slices of arrays whose sizes are known at run time only, and assignment to them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <opcode.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

bool is_none(const LoopValue& value) { return value.kind == LoopKind::Const && value.object == Py_None; }

std::string times(const std::string& a, const std::string& b) {
  if (a == "1L") return b;
  return b == "1L" ? a : fmt::format("{} * {}", a, b);
}

// From where to behind where the elements of a view of `n` elements at `pointer` lie, in bytes.
std::string extent(const LoopValue& view) {
  std::string low, high;
  for (int d = 0; d < view.dims; ++d) {
    const std::string reach = fmt::format("({} - 1) * {}", view.size(d).expr, view.stride(d).expr);
    low += fmt::format(" + minimum<i64>(0, {})", reach);
    high += fmt::format(" + maximum<i64>(0, {})", reach);
  }
  return fmt::format("{0}{1}, {0}{2}", view.items[0].expr, low, high);
}

Expr size_of_array(const LoopArray& array, int d) { return Expr::name(fmt::format("{}_n{}", array.name, d)); }

}  // namespace

int LoopBuilder::num_dims(const LoopValue& value) const {
  if (value.kind == LoopKind::Pending) return static_cast<int>(value.sizes.size());
  if (value.kind == LoopKind::View) return value.dims;
  if (!is_array(value)) return 0;
  return array_of(value).dim - (value.kind == LoopKind::Row ? value.dims : 0);
}

Expr LoopBuilder::size_text(const LoopValue& array, int d) const {
  if (array.kind == LoopKind::View) return array.size(d).expr;
  return size_of_array(array_of(array), d + (array.kind == LoopKind::Row ? array.dims : 0));
}

Expr LoopBuilder::stride_text(const LoopValue& array, int d) const {
  if (array.kind == LoopKind::View) return array.stride(d).expr;
  if (array.kind == LoopKind::Row) d += array.dims;
  const LoopArray& described = array_of(array);
  return described.unit >> d & 1 ? Expr::constant("1L")
                                 : Expr::name(fmt::format("{}_s{}", described.name, d));
}

Expr LoopBuilder::data_text(const LoopValue& array) const {
  if (array.kind == LoopKind::View) return array.items[0].expr;
  return array.kind == LoopKind::Row ? array.expr : Expr::name(array_of(array).name + "_data");
}

bool LoopBuilder::is_writable(const LoopValue& array) const {
  return array.index < 0 || array_of(array).writable;
}

// Does the loop leave the variable as it is? The sizes of the entry's arrays are no variables.
bool LoopBuilder::is_fixed(const std::string& expr) const {
  if (variable_types_.count(expr)) return checked_ && !checked_->changed.count(expr);
  return std::any_of(arrays_.begin(), arrays_.end(), [&](const LoopArray& array) {
    for (int d = 0; d < array.dim; ++d)
      if (expr == size_of_array(array, d)) return true;
    return false;
  });
}

LoopValue LoopBuilder::stride_value(std::string expr) const {
  if (expr == "1L") return loop_known_int(1);
  return loop_int(std::move(expr));
}

LoopValue LoopBuilder::as_view(const LoopValue& value) {
  note_read(value);
  if (value.kind == LoopKind::View) return value;
  std::vector<LoopValue> sizes, strides;
  for (int d = 0; d < num_dims(value); ++d) {
    sizes.push_back(loop_int(size_text(value, d), true));
    strides.push_back(stride_value(stride_text(value, d)));
  }
  return loop_view(value.dtype, value.index, data_text(value), std::move(sizes), std::move(strides));
}

LoopValue LoopBuilder::transposed(const LoopValue& value) {
  const LoopValue view = as_view(value);
  std::vector<LoopValue> sizes, strides;
  for (int d = view.dims; d-- > 0;) {
    sizes.push_back(view.size(d));
    strides.push_back(view.stride(d));
  }
  return loop_view(view.dtype, view.index, view.items[0].expr, std::move(sizes), std::move(strides));
}

// Python's slice.indices().
void LoopBuilder::slice_bounds(const LoopValue& slice, const std::string& size, std::string* start,
                               std::string* length, std::string* step) {
  const auto bound = [&](const LoopValue& given, const Expr& missing, bool forward) -> Expr {
    if (is_none(given)) return missing;
    if (given.known == 0 && forward) return Expr::constant("0L");
    const Expr index = as_index(given);
    const bool nonnegative = given.nonnegative || (given.known && *given.known >= 0);
    const Expr function = Expr::function(
        fmt::format("{}{}", nonnegative ? "clamped" : "clamped_index", forward ? "" : "_back"));
    return temporary("i64", Expr::apply(op::kCall2, {function, index, size}));
  };
  bool forward = true;
  *step = "1L";
  if (const LoopValue& given = slice.items[2]; given.known) {
    if (*given.known == 0 || std::abs(*given.known) > 1 << 20)
      throw LoopUnsupported{"a slice with this step"};
    *step = fmt::format("{}L", *given.known);
    forward = *given.known > 0;
  } else if (!is_none(given)) {
    *step = temporary("i64", as_index(given));
    require(fmt::format("{0} > 0 && {0} < (1L << 40)", *step));
  }
  *start =
      bound(slice.items[0],
            forward ? Expr::constant("0L")
                    : Expr::apply(op::kBrackets, {Expr::apply(op::infix("-"), {size, Expr::constant("1")})}),
            forward);
  const Expr stop = bound(slice.items[1], forward ? Expr(size) : Expr::constant("-1L"), forward);
  if (*step == "1L")
    *length = *start == "0L" ? stop : temporary("i64", fmt::format("maximum<i64>(0, {} - {})", stop, *start));
  else
    *length = temporary("i64", fmt::format("slice_length({}, {}, {})", *start, stop, *step));
}

// A key's parts, one for each dimension and new axis; an ellipsis filled in.
std::vector<LoopValue> LoopBuilder::taken_apart(const LoopValue& key, int dims) {
  const std::vector<LoopValue> given = key.kind == LoopKind::Tuple ? key.items : std::vector<LoopValue>{key};
  int used = 0;
  bool has_ellipsis = false;
  for (const LoopValue& part : given) {
    const bool is_ellipsis = part.kind == LoopKind::Const && part.object == Py_Ellipsis;
    if (is_ellipsis && has_ellipsis) throw LoopUnsupported{"an index with two ellipses"};
    has_ellipsis |= is_ellipsis;
    used += !is_ellipsis && !is_none(part);
  }
  if (used > dims) throw LoopUnsupported{"an index with more dimensions than the array"};
  std::vector<LoopValue> parts;
  LoopValue all;
  all.kind = LoopKind::Slice;
  all.items.assign(3, loop_const(Py_None));
  for (const LoopValue& part : given) {
    if (part.kind == LoopKind::Const && part.object == Py_Ellipsis)
      parts.insert(parts.end(), static_cast<size_t>(dims - used), all);
    else
      parts.push_back(part);
  }
  if (!has_ellipsis) parts.insert(parts.end(), static_cast<size_t>(dims - used), all);
  return parts;
}

LoopValue LoopBuilder::view_subscript(const LoopValue& container, const std::vector<LoopValue>& key) {
  std::vector<LoopValue> sizes, strides;
  std::string pointer = data_text(container);
  std::vector<LoopAffineRef> indices;  // of the container
  int d = 0;
  for (const LoopValue& part : key) {
    if (is_none(part)) {
      sizes.push_back(loop_known_int(1));
      strides.push_back(loop_int("0L"));
      continue;
    }
    const std::string size = size_text(container, d), stride = stride_text(container, d);
    ++d;
    indices.push_back(part.kind == LoopKind::Slice ? nullptr : part.affine);
    if (part.kind != LoopKind::Slice) {
      if (!part.is_number()) throw LoopUnsupported{"an index that is not an int"};
      std::string index = as_index(part);
      if (!part.nonnegative) index = temporary("i64", fmt::format("{0} < 0 ? {0} + {1} : {0}", index, size));
      require(fmt::format("(u64){} < (u64){}", index, size));
      pointer += fmt::format(" + {}", times(index, stride));
      continue;
    }
    std::string start, length;
    std::string step;
    slice_bounds(part, size, &start, &length, &step);
    if (start != "0L") pointer += fmt::format(" + {}", times(start, stride));
    sizes.push_back(loop_int(length, true));
    strides.push_back(stride_value(times(stride, step)));
    if (!loopir::Expr(strides.back().expr).is_word())
      strides.back().expr = temporary("i64", strides.back().expr);
  }
  if (sizes.empty()) throw LoopUnsupported{"an array without dimensions"};
  const DType dtype = container.dtype;
  if (!loopir::Expr(pointer).is_word()) pointer = temporary(element_type(dtype) + "*", pointer);
  LoopValue view = loop_view(dtype, container.index, pointer, std::move(sizes), std::move(strides));
  note_view(container, indices, pointer);
  note_read(view);
  return view;
}

// Would writing to the view change elements of the operand that are still to be read? Empty: never.
std::string LoopBuilder::is_conflict(const LoopValue& view, const LoopValue& operand) {
  if (operand.dtype != view.dtype) return "";  // arrays of different types do not share memory
  if ((operand.index < 0) != (view.index < 0)) return "";
  std::string same = fmt::format("{} == {}", view.items[0].expr, operand.items[0].expr);
  bool is_same = view.items[0].expr == operand.items[0].expr && view.dims == operand.dims;
  for (int d = 1; d <= view.dims; ++d) {
    const std::string stride = d > operand.dims ? "0L" : operand.stride(operand.dims - d).expr;
    is_same = is_same && stride == view.stride(view.dims - d).expr;
    same += fmt::format(" && {} == {}", view.stride(view.dims - d).expr, stride);
    if (d <= operand.dims)
      same += fmt::format(" && {} == {}", view.size(view.dims - d).expr, operand.size(operand.dims - d).expr);
  }
  if (is_same) return "";
  return fmt::format("(overlaps({}, {}) && !({}))", extent(view), extent(operand), same);
}

void LoopBuilder::store_view(const LoopValue& view, const LoopValue& value, bool same_kind) {
  if (!is_writable(view)) throw LoopUnsupported{"assignment to a read-only array"};
  materialize_all();
  block_has_arrays_ = block_stores_arrays_ = true;
  Target target{view.items[0].expr, element_type(view.dtype), {}, {}, ""};
  for (int d = 0; d < view.dims; ++d) {
    target.sizes.push_back(view.size(d).expr);
    target.strides.push_back(view.stride(d).expr);
  }
  if (value.kind == LoopKind::Tuple || value.kind == LoopKind::List)
    return store_view(view, array_of_numbers(value), same_kind);
  LoopValue source = value;
  if (value.is_number() || (value.is_complex() && view.dtype == DType::C128)) {
    source = loop_numpy(view.dtype, temporary(c_type(view.dtype), stored(value, view.dtype)));
  } else if (!is_arraylike(value)) {
    throw LoopUnsupported{"assignment of what is not a number or an array"};
  } else {
    const DType from = value.dtype;
    const bool both_float = is_floating(from) && is_floating(view.dtype);
    const bool widens = (is_integral(from) || from == DType::Bool) &&
                        (is_floating(view.dtype) || (is_integral(view.dtype) && !same_kind));
    const bool becomes_complex = is_loop_dtype(from) && view.dtype == DType::C128;
    if (from != view.dtype && !both_float && !widens && !becomes_complex)
      throw LoopUnsupported{"assignment that changes the type"};
    const std::vector<std::string> shape = shape_of(value);
    if (shape.size() > target.sizes.size()) throw LoopUnsupported{"assignment of more dimensions"};
    for (size_t i = 0; i < shape.size(); ++i) {
      const std::string& size = target.sizes[target.sizes.size() - shape.size() + i];
      if (shape[i] != size && shape[i] != "1L")
        require(fmt::format("{0} == {1} || {0} == 1", shape[i], size));
    }
    if (is_array(source)) source = as_view(source);
    if (has_gather(source)) source = materialized(source);
  }
  std::vector<LoopValue> operands;
  collect_views(source, operands);
  std::vector<std::string> conflicts;
  for (const LoopValue& operand : operands) {
    const std::string one = is_conflict(view, operand);
    if (!one.empty() && std::count(conflicts.begin(), conflicts.end(), one) == 0) conflicts.push_back(one);
  }
  const std::string conflict = fmt::format("{}", fmt::join(conflicts, " || "));
  if (conflict.empty()) return emit_elements(source, view.dtype, target);
  // Another memory for the result first; the loops over it are the same.
  const std::string apart = temporary("bool", conflict);
  std::string count = "1L";
  for (const std::string& size : target.sizes) count = times(count, size);
  parts_.insert(parts_.end(), operands.begin(), operands.end());
  Target first = target;
  first.pointer = allocated(view.dtype, {count}, apart, target.pointer).items[0].expr;
  std::string stride = "1L";
  for (size_t d = target.sizes.size(); d-- > 0;) {
    if (target.strides[d] != stride)
      first.strides[d] = temporary("i64", fmt::format("{} ? {} : {}", apart, stride, target.strides[d]));
    stride = times(stride, target.sizes[d]);
  }
  emit_elements(source, view.dtype, first);
  std::vector<LoopValue> sizes, strides;
  for (size_t d = 0; d < target.sizes.size(); ++d) {
    sizes.push_back(loop_int(target.sizes[d], true));
    strides.push_back(stride_value(first.strides[d]));
  }
  emit(fmt::format("if ({}) {{", apart));
  emit_elements(loop_view(view.dtype, -1, first.pointer, sizes, strides), view.dtype, target);
  emit("}");
}

// a += b and the like, where a is an array: its elements change.
LoopValue LoopBuilder::in_place(int op, const LoopValue& a, const LoopValue& b) {
  const LoopValue result = array_binary(op, a, b);
  if (a.kind == LoopKind::Pending) {
    // What was gathered is nobody else's.
    if (result.dtype != a.dtype || !is_arraylike(result))
      throw LoopUnsupported{"an update in place of another type"};
    const std::vector<std::string> was = shape_of(a), is = shape_of(result);
    if (was.size() != is.size()) throw LoopUnsupported{"an update in place of fewer dimensions"};
    for (size_t d = 0; d < was.size(); ++d)
      if (was[d] != is[d]) require(fmt::format("{} == {}", was[d], is[d]));
    return result;
  }
  note_stored(a, nullptr);
  LoopValue view = as_view(a);
  if (num_dims(result) != view.dims) throw LoopUnsupported{"an update in place of fewer dimensions"};
  const std::vector<std::string> shape = shape_of(result);
  for (int d = 0; d < view.dims; ++d)
    if (shape[static_cast<size_t>(d)] != view.size(d).expr)
      require(fmt::format("{} == {}", shape[static_cast<size_t>(d)], view.size(d).expr));
  store_view(view, result, true);
  return a;
}

}  // namespace weft::capture
