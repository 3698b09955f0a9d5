// NumPy's shapes, views, joining and attributes.
#include <fmt/format.h>

#include <optional>
#include <set>

#include "capture/numpy/names.h"
#include "capture/objects/host_tensors.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"
#include "ops/view.h"
#include "weft/error.h"

namespace weft::capture {

SymShape to_shape(Evaluator& ev, const V& shape, const char* what) {
  const auto size_of = [&](const V& item) {
    refuse_bool(ev, item, what);
    return ev.to_sym(item, what);
  };
  if (ev.is_int(shape)) return {size_of(shape)};
  SymShape result;
  for (const V& item : ev.elements(shape)) result.push_back(size_of(item));
  return result;
}

V view(const V& base, Tensor tensor) {
  // A scalar has no memory that others could look at.
  if (base->flavor == Flavor::NumpyScalar) {
    const bool is_scalar = tensor.dim() == 0;
    return array_value(ops::call1("cast", {tensor}, {{"dtype", tensor.dtype()}}),
                       is_scalar ? Flavor::NumpyScalar : Flavor::NdArray);
  }
  V value = array_value(std::move(tensor));
  value->view_of = base;
  return value;
}

const V& array_argument(Evaluator& ev, const V& value) {
  if (!value || ev.realize(value)->kind != Kind::Array) graph_break("an argument that is not an array");
  return value;
}

namespace {

V permute(const V& array, const std::vector<int64_t>& order) {
  SymShape dims(order.begin(), order.end());
  return view(array, ops::call1("permute", {array->tensor}, {{"dims", dims}}));
}

V transpose(Evaluator& ev, CallArgs& args) {
  if (args.args.empty()) graph_break("transpose() of nothing");
  const V& array = array_argument(ev, args.args[0]);
  const int64_t ndim = array->tensor.dim();
  V axes = args.keyword("axes");
  if (args.args.size() == 2) axes = args.args[1];
  if (args.args.size() > 2) axes = tuple_value({args.args.begin() + 1, args.args.end()});
  std::vector<int64_t> order;
  if (!axes || ev.is_none(axes)) {
    for (int64_t d = ndim; d-- > 0;) order.push_back(d);
  } else {
    order = to_axes(ev, ev.is_int(axes) ? tuple_value({axes}) : axes, ndim, "transpose");
    if (static_cast<int64_t>(order.size()) != ndim) graph_break("axes that do not match the array");
  }
  return permute(array, order);
}

V swapaxes(Evaluator& ev, CallArgs& args);

// The method has no keywords.
V swapaxes_method(Evaluator& ev, CallArgs& args) {
  if (!args.keywords.empty()) graph_break("swapaxes() with keywords");
  return swapaxes(ev, args);
}

V swapaxes(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis1, axis2");
  const V& array = array_argument(ev, bound[0]);
  const int64_t ndim = array->tensor.dim();
  if (ndim == 0) graph_break("swapaxes() of an array without axes");
  std::vector<int64_t> order;
  for (int64_t d = 0; d < ndim; ++d) order.push_back(d);
  std::swap(order.at(static_cast<size_t>(ops::normalize_dim("swapaxes", to_axis(ev, bound[1]), ndim))),
            order.at(static_cast<size_t>(ops::normalize_dim("swapaxes", to_axis(ev, bound[2]), ndim))));
  return permute(array, order);
}

// One -1 is what the others leave over.
SymShape complete_shape(const SymShape& from, SymShape to) {
  int unknown = -1;
  Sym known(1);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].is_constant() && to[i].constant() == -1) {
      if (unknown >= 0) graph_break("a shape with two unknown dimensions");
      unknown = static_cast<int>(i);
    } else {
      known = known * to[i];
    }
  }
  const Sym total = product(from);
  if (unknown >= 0) {
    if (sym_eq(known, Sym(0))) graph_break("a shape with an unknown dimension of an empty array");
    // A size that occurs on both sides cancels.
    SymShape rest = from;
    bool cancelled = true;
    for (size_t i = 0; i < to.size(); ++i) {
      if (static_cast<int>(i) == unknown) continue;
      bool found = false;
      for (size_t j = 0; j < rest.size() && !found; ++j)
        if (sym_known_equal(rest[j], to[i])) {
          rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(j));
          found = true;
        }
      cancelled &= found;
    }
    to[static_cast<size_t>(unknown)] = cancelled ? product(rest) : floor_div(total, known);
  }
  if (!sym_eq(product(to), total)) graph_break("a reshape to another number of elements");
  return to;
}

// Are all dimensions of the view some of the other's?
bool has_dimensions_of(const Tensor& view, const Tensor& other) {
  const SymShape sizes = ops::sym_shape(view), others = ops::sym_shape(other);
  for (size_t d = 0; d < sizes.size(); ++d) {
    bool found = false;
    for (size_t i = 0; i < others.size(); ++i)
      found |= sym_known_equal(sizes[d], others[i]) && view.impl()->strides[d] == other.impl()->strides[i];
    if (!found) return false;
  }
  return true;
}

// Whether NumPy's reshape is a view depends on the strides. Of an argument that is neither in C nor in
// Fortran order, guards say how those of its dimensions are related to each other, and nothing about slices.
void require_known_strides(const V& array, const SymShape& shape) {
  const V* root = &array;
  while ((*root)->view_of) root = &(*root)->view_of;
  if (!(*root)->strided || has_dimensions_of(array->tensor, (*root)->tensor)) return;
  const auto without_ones = [](SymShape sizes) {
    std::erase_if(sizes, [](Sym size) { return size.is_constant() && size.constant() == 1; });
    return str(sizes);
  };
  if (without_ones(shape) != without_ones(ops::sym_shape(array->tensor)))
    graph_break("reshape() of a part of an argument that is neither in C nor in Fortran order");
}

// Strides of the reshaped array where NumPy gives a view.
std::optional<Strides> reshaped_strides(const V& array, const SymShape& shape) {
  Shape target;
  for (const Sym& size : shape) target.push_back(size.hint());
  return ops::view_strides(array->tensor.impl()->shape, array->tensor.impl()->strides, target);
}

V reshape_to(const V& array, SymShape shape) {
  shape = complete_shape(ops::sym_shape(array->tensor), std::move(shape));
  require_known_strides(array, shape);
  const bool is_view = reshaped_strides(array, shape).has_value();
  const V value = view(array, ops::call1("reshape", {array->tensor}, {{"shape", shape}}));
  return is_view ? value : array_value(copy_tensor(value->tensor));
}

V reshape(Evaluator& ev, CallArgs& args) {
  for (const auto& [key, value] : args.keywords)
    if (key == "order" && ev.to_string(value, "order") != "C") graph_break("reshape() in another order");
  if (given(ev, args.keyword("copy"))) graph_break("reshape() with copy=");
  if (args.args.empty()) graph_break("reshape() of nothing");
  const V array =
      ev.realize(args.args[0])->kind == Kind::Array ? args.args[0] : array_value(as_tensor(ev, args.args[0]));
  V shape = args.keyword("shape");
  if (!shape) shape = args.keyword("newshape");
  if (args.args.size() == 2) shape = args.args[1];
  if (args.args.size() > 2) shape = tuple_value({args.args.begin() + 1, args.args.end()});
  if (!shape) graph_break("reshape() without a shape");
  return reshape_to(array, to_shape(ev, shape, "a shape"));
}

template <bool kCopies>
V ravel(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, order");
  if (bound[1] && ev.to_string(bound[1], "order") != "C") graph_break("ravel() in another order");
  V array = ev.realize(bound[0])->kind == Kind::Array ? bound[0] : array_value(as_tensor(ev, bound[0]));
  const std::optional<Strides> strides = reshaped_strides(array, {product(ops::sym_shape(array->tensor))});
  V flat = reshape_to(array, {Sym(-1)});
  // ravel() gives contiguous memory: a view only where it is that already.
  if (kCopies || (flat->view_of && strides && strides->at(0) != 1))
    flat = array_value(copy_tensor(flat->tensor));
  return flat;
}

V expand_dims(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis");
  const V& array = array_argument(ev, bound[0]);
  const bool many = !ev.is_int(bound[1]);
  const int64_t added = many ? static_cast<int64_t>(ev.elements(bound[1]).size()) : 1;
  const int64_t ndim = array->tensor.dim() + added;
  std::vector<int64_t> axes = to_axes(ev, bound[1], ndim, "expand_dims");
  if (std::set(axes.begin(), axes.end()).size() != axes.size()) graph_break("an axis that is named twice");
  SymShape shape, from = ops::sym_shape(array->tensor);
  size_t next = 0;
  for (int64_t d = 0; d < ndim; ++d)
    shape.push_back(std::find(axes.begin(), axes.end(), d) != axes.end() ? Sym(1) : from[next++]);
  return view(array, ops::call1("reshape", {array->tensor}, {{"shape", shape}}));
}

V squeeze(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis");
  const V& array = array_argument(ev, bound[0]);
  SymShape from = ops::sym_shape(array->tensor), shape;
  const bool all = !bound[1] || ev.is_none(bound[1]);
  std::vector<int64_t> axes = to_axes(ev, bound[1], array->tensor.dim(), "squeeze");
  for (int64_t d = 0; d < array->tensor.dim(); ++d) {
    const Sym size = from[static_cast<size_t>(d)];
    const bool one = size.is_constant() && size.constant() == 1;
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!all && named && !one) graph_break("squeeze() of a dimension that is not one");
    if (!(named && one)) shape.push_back(size);
  }
  return view(array, ops::call1("reshape", {array->tensor}, {{"shape", shape}}));
}

V where(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "condition, x, y");
  if (!bound[0] || !bound[1] || !bound[2]) graph_break("where() without its choices");
  Tensor condition = cast_to(as_tensor(ev, bound[0]), DType::Bool);
  V x = bound[1], y = bound[2];
  // The branches are promoted as operands of an addition are.
  const auto operand = [&](const V& v) -> ops::Operand {
    if (ev.is_arraylike(v) && v->is_const())
      if (const auto number = scalar_of(v->object.get())) return *number;
    if (v->kind == Kind::SymInt) return Scalar(int64_t{1});
    if (v->kind == Kind::Scalar && v->weak == WeakKind::Int) return Scalar(int64_t{1});
    if (v->kind == Kind::Scalar && v->weak == WeakKind::Float) return Scalar(1.0);
    return as_tensor(ev, v);
  };
  const std::vector<ops::Operand> operands = {operand(x), operand(y)};
  const DType dtype =
      std::holds_alternative<Scalar>(operands[0]) && std::holds_alternative<Scalar>(operands[1])
          ? promote_types(as_tensor(ev, x).dtype(), as_tensor(ev, y).dtype(), Promotion::NumPy)
          : ops::promoted_types(ops::get_op("maximum"), operands, Promotion::NumPy).compute;
  // From NumPy 2.5 on a Python int is refused that the type cannot hold; before, its lowest bits are taken.
  const auto choice = [&](const V& v) {
    const bool is_checked = is_numpy_at_least(2, 5) && is_integral(dtype);
    if (is_checked && v->is_const() && PyLong_CheckExact(v->object.get())) check_storable(ev, v, dtype);
    const bool is_int = v->kind == Kind::SymInt || (v->kind == Kind::Scalar && v->weak == WeakKind::Int);
    return cast_to(is_checked && is_int ? within_range(ev, v, dtype) : as_tensor(ev, v), dtype);
  };
  V result = array_value(ops::call1("where", {condition, choice(x), choice(y)}));
  return laid_out_as(result, {bound[0], x, y});
}

V clip(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, a_min, a_max, out, *, min, max");
  const V low = bound[1] ? bound[1] : bound[4], high = bound[2] ? bound[2] : bound[5];
  if ((bound[1] || bound[2]) && (bound[4] || bound[5])) graph_break("clip() with bounds given twice");
  if (bound[3] && !ev.is_none(bound[3])) graph_break("clip() with out=");
  if ((!low || ev.is_none(low)) && (!high || ev.is_none(high))) graph_break("clip() without bounds");
  V value = bound[0];
  if (low && !ev.is_none(low)) value = numpy_pointwise(ev, "maximum", {value, low});
  if (high && !ev.is_none(high)) value = numpy_pointwise(ev, "minimum", {value, high});
  return value;
}

V concatenate(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "arrays, axis");
  std::vector<Tensor> parts;
  for (const V& item : ev.elements(bound[0])) parts.push_back(as_tensor(ev, item));
  if (parts.empty()) graph_break("joining of no arrays");
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].dim() == parts[0].dim()) continue;
    const std::string message = fmt::format(
        "all the input arrays must have same number of dimensions, but the array at index 0 has {} "
        "dimension(s) and the array at "
        "index {} has {} dimension(s)",
        parts[0].dim(), i, parts[i].dim());
    ev.raise(PyExc_ValueError, {str_value(message)}, message);
  }
  const AxisOrder order = joined_order(parts);
  DType dtype = parts[0].dtype();
  for (const Tensor& part : parts) dtype = promote_types(dtype, part.dtype(), Promotion::NumPy);
  for (Tensor& part : parts) part = cast_to(part, dtype);
  ops::Attrs attrs{{"dim", Sym(0)}};
  if (bound[1] && ev.is_none(bound[1])) graph_break("concatenate() of flattened arrays");
  if (bound[1]) attrs.set("dim", Sym(to_axis(ev, bound[1])));
  return laid_out(array_value(ops::call1("concatenate", parts, attrs)), order);
}

V matmul(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, b");
  return numpy_binary(ev, 4, bound[0], bound[1]);
}

V dot(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, b");
  Tensor a = as_tensor(ev, bound[0]), b = as_tensor(ev, bound[1]);
  if (a.dim() == 0 || b.dim() == 0) return numpy_pointwise(ev, "mul", {bound[0], bound[1]});
  if (b.dim() > 2) graph_break("dot() of arrays with many dimensions");
  return numpy_binary(ev, 4, bound[0], bound[1]);
}

V shape_function(Evaluator& ev, CallArgs& args);

V item(Evaluator& ev, CallArgs& args) {
  if (args.args.size() != 1) graph_break("item() with an index");
  const V& array = array_argument(ev, args.args[0]);
  for (Sym size : ops::sym_shape(array->tensor))
    if (!size.is_constant() || size.constant() != 1) graph_break("item() of an array of several elements");
  const DType dtype = array->tensor.dtype();
  V result = make_value(Kind::Scalar);
  result->weak = dtype == DType::Bool ? WeakKind::Bool
                 : is_integral(dtype) ? WeakKind::Int
                 : is_complex(dtype)  ? WeakKind::Complex
                                      : WeakKind::Float;
  if (dtype == DType::U64) graph_break("item() of an unsigned array");
  Tensor flat = ops::call1("reshape", {array->tensor}, {{"shape", SymShape{}}});
  // A copy, which later changes of the array do not reach.
  const DType wide = dtype == DType::Bool ? dtype
                     : is_integral(dtype) ? DType::I64
                     : is_complex(dtype)  ? DType::C128
                                          : DType::F64;
  result->tensor = ops::call1("cast", {flat}, {{"dtype", wide}});
  return result;
}

V fill(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, value");
  const V& array = array_argument(ev, bound[0]);
  if (array->flavor == Flavor::NumpyScalar) return none_value();  // NumPy fills a copy
  if (!args.keywords.empty() || !bound[1] || as_tensor(ev, bound[1]).dim() > 0 ||
      ev.realize(bound[1])->kind == Kind::List)
    graph_break("fill() with what is no number");
  assign(ev, array, array->tensor, bound[1]);
  return none_value();
}

V shape_of(Evaluator&, const V& array) {
  std::vector<V> sizes;
  for (Sym size : ops::sym_shape(array->tensor)) sizes.push_back(sym_value(size));
  return tuple_value(std::move(sizes));
}

V shape_function(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a");
  return shape_of(ev, array_value(as_tensor(ev, bound[0])));
}

V ndim_function(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a");
  return int_value(as_tensor(ev, bound[0]).dim());
}

}  // namespace

V numpy_attribute(Evaluator& ev, const V& array, const std::string& name) {
  const Tensor& tensor = array->tensor;
  if (name == "shape") return shape_of(ev, array);
  if (name == "ndim") return int_value(tensor.dim());
  if (name == "size") return sym_value(product(ops::sym_shape(tensor)));
  if (name == "itemsize") return int_value(itemsize(tensor.dtype()));
  if (name == "nbytes") return sym_value(product(ops::sym_shape(tensor)) * Sym(itemsize(tensor.dtype())));
  if (name == "dtype")
    return const_value(
        checked(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(tensor.dtype())))));
  if (name == "T") {
    CallArgs args;
    args.args = {array};
    return transpose(ev, args);
  }
  if (name == "mT" && tensor.dim() >= 2) {
    std::vector<int64_t> order;
    for (int64_t d = 0; d < tensor.dim(); ++d) order.push_back(d);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return permute(array, order);
  }
  if (name == "real" && !is_complex(tensor.dtype())) return array;
  if (name == "real" || name == "imag") {
    if (is_complex(tensor.dtype()) && array->flavor == Flavor::NdArray)
      return view(array, ev.tracer().record_part(ops::get_op(name), tensor));
    // The imaginary parts of real numbers are zeros of their own, which NumPy lets nobody write to.
    const V part = laid_out(array_value(ops::call1(name, {tensor}), array->flavor), copy_order(array));
    part->read_only = array->flavor == Flavor::NdArray;
    return part;
  }
  if (name == "device" && tensor.device() != Device{}) return const_value(object_of_device(tensor.device()));
  if (name == "device") return str_value("cpu");
  if (AttributeLowering lowering = find_array_attribute(name)) return lowering(ev, array);
  return nullptr;
}

void register_numpy_shapes() {
  const std::pair<const char*, Lowering> functions[] = {{"numpy.transpose", transpose},
                                                        {"numpy.swapaxes", swapaxes},
                                                        {"numpy.reshape", reshape},
                                                        {"numpy.ravel", ravel<false>},
                                                        {"numpy.expand_dims", expand_dims},
                                                        {"numpy.squeeze", squeeze},
                                                        {"numpy.where", where},
                                                        {"numpy.clip", clip},
                                                        {"numpy.concatenate", concatenate},
                                                        {"numpy.matmul", matmul},
                                                        {"numpy.dot", dot},
                                                        {"numpy.shape", shape_function},
                                                        {"numpy.ndim", ndim_function}};
  for (const auto& [name, lowering] : functions) register_lowering(name, lowering);
  const std::pair<const char*, Lowering> methods[] = {{"transpose", transpose}, {"swapaxes", swapaxes_method},
                                                      {"reshape", reshape},     {"ravel", ravel<false>},
                                                      {"flatten", ravel<true>}, {"squeeze", squeeze},
                                                      {"clip", clip},           {"dot", dot},
                                                      {"item", item},           {"fill", fill}};
  for (const auto& [name, lowering] : methods) register_array_method(name, lowering);
}

}  // namespace weft::capture
