// NumPy's shapes, views, creation, joining and attributes.
#include <fmt/format.h>

#include <optional>

#include "capture/numpy_api.h"
#include "capture/numpy_names.h"
#include "ops/view.h"
#include "weft/error.h"

namespace weft::capture {

SymShape to_shape(Evaluator& ev, const V& shape, const char* what) {
  if (ev.is_int(shape)) return {ev.to_sym(shape, what)};
  SymShape result;
  for (const V& item : ev.elements(shape)) result.push_back(ev.to_sym(item, what));
  return result;
}

namespace {

// A view of `base`'s memory.
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

V permute(const V& array, const std::vector<int64_t>& order) {
  SymShape dims(order.begin(), order.end());
  V value = view(array, ops::call1("permute", {array->tensor}, {{"dims", dims}}));
  bool reversed = true, same = true;
  for (size_t i = 0; i < order.size(); ++i) {
    reversed &= order[i] == static_cast<int64_t>(order.size() - 1 - i);
    same &= order[i] == static_cast<int64_t>(i);
  }
  value->f_order = reversed ? !array->f_order : same && array->f_order;
  return value;
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

V swapaxes(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis1, axis2");
  const V& array = array_argument(ev, bound[0]);
  const int64_t ndim = array->tensor.dim();
  if (ndim == 0) graph_break("swapaxes() of an array without axes");
  std::vector<int64_t> order;
  for (int64_t d = 0; d < ndim; ++d) order.push_back(d);
  std::swap(order.at(static_cast<size_t>(ops::normalize_dim("swapaxes", ev.to_int(bound[1], "axis"), ndim))),
            order.at(static_cast<size_t>(ops::normalize_dim("swapaxes", ev.to_int(bound[2], "axis"), ndim))));
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

// Whether NumPy's reshape is a view depends on the strides, which a guard on the layout does not pin for an
// argument that is neither in C nor in Fortran order.
void require_known_strides(const V& array, const SymShape& shape) {
  const V* root = &array;
  while ((*root)->view_of) root = &(*root)->view_of;
  if (!(*root)->strided) return;
  const auto without_ones = [](SymShape sizes) {
    std::erase_if(sizes, [](Sym size) { return size.is_constant() && size.constant() == 1; });
    return str(sizes);
  };
  if (without_ones(shape) != without_ones(ops::sym_shape(array->tensor)))
    graph_break("reshape() of an argument that is neither in C nor in Fortran order");
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
  V root = array;
  while (root->view_of) root = root->view_of;
  // An array made inside in Fortran order has other strides in NumPy than its tensor.
  const bool fortran = root->input < 0 && root->f_order && root->tensor.dim() > 1;
  if (fortran && root != array && array->tensor.dim() > 1)
    graph_break("reshape() of a view of an array in Fortran order");
  V value = view(array, ops::call1("reshape", {array->tensor}, {{"shape", shape}}));
  if (fortran ? root == array : !reshaped_strides(array, shape)) {
    value = array_value(ops::call1("cast", {value->tensor}, {{"dtype", value->tensor.dtype()}}));
  }
  return value;
}

V reshape(Evaluator& ev, CallArgs& args) {
  for (const auto& [key, value] : args.keywords)
    if (key == "order" && ev.to_string(value, "order") != "C") graph_break("reshape() in another order");
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

// A new array with the same values. The graph may drop the copy; results that need memory of their own get it
// when they are given to Python.
Tensor copy_tensor(const Tensor& tensor, DType dtype) {
  return ops::call1("cast", {tensor}, {{"dtype", dtype}});
}
Tensor copy_tensor(const Tensor& tensor) { return copy_tensor(tensor, tensor.dtype()); }

V copy_of(const V& array, DType dtype) {
  V value = array_value(copy_tensor(array->tensor, dtype));
  value->f_order = array->f_order;
  return value;
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
  V value = view(array, ops::call1("reshape", {array->tensor}, {{"shape", shape}}));
  value->f_order = array->f_order && shape.size() == from.size();
  return value;
}

// Whether order= asks for Fortran order of an array's copy, where `otherwise` is the default.
bool wants_fortran(Evaluator& ev, const V& order, const V& array, const char* otherwise) {
  const std::string text = order && !ev.is_none(order) ? ev.to_string(order, "order") : otherwise;
  if (text == "F") return array->tensor.dim() > 1;
  if (text == "C") return false;
  if (text == "K" || text == "A") return array->f_order;
  graph_break("an unknown memory order");
}

bool is_contiguous(const V& array, bool fortran) {
  const Shape& shape = array->tensor.impl()->shape;
  const Strides& strides = array->tensor.impl()->strides;
  if (!array->view_of && array->input < 0) return shape.size() < 2 || array->f_order == fortran;
  V root = array;
  while (root->view_of) root = root->view_of;
  if (root->input < 0 && root->f_order && root->tensor.dim() > 1 && shape.size() > 1)
    graph_break("the memory order of a view of an array in Fortran order");
  int64_t expected = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t d = fortran ? i : shape.size() - 1 - i;
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

V astype(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, dtype, order, casting, subok, copy");
  const V& array = array_argument(ev, bound[0]);
  const DType dtype = to_dtype(ev, bound[1], "dtype"), from = array->tensor.dtype();
  if (is_complex(from) && !is_complex(dtype)) graph_break("a cast that discards imaginary parts");
  const std::string casting = bound[3] ? ev.to_string(bound[3], "casting") : "unsafe";
  if (casting != "unsafe" && dtype != from && (casting != "same_kind" || info(from).kind > info(dtype).kind))
    graph_break(fmt::format("astype() with casting={}", casting));
  const bool fortran = wants_fortran(ev, bound[2], array, "K");
  const bool laid_out = !bound[2] || is_contiguous(array, fortran);
  if (bound[5] && !ev.truth(bound[5]) && dtype == from && laid_out) return array;
  V value = copy_of(array, dtype);
  value->f_order = fortran && value->tensor.dim() > 1;
  value->flavor = array->flavor;
  return value;
}

// numpy.copy keeps the order, the method gives C order.
template <bool kMethod>
V copy(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, order, subok");
  V array = ev.realize(bound[0])->kind == Kind::Array ? bound[0] : array_value(as_tensor(ev, bound[0]));
  V value = array_value(copy_tensor(array->tensor));
  value->f_order = wants_fortran(ev, bound[1], array, kMethod ? "C" : "K");
  if (kMethod) value->flavor = array->flavor;
  return value;
}

template <bool kFortran>
V as_contiguous(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, dtype");
  ev.realize(bound[0]);
  const bool is_array = bound[0]->kind == Kind::Array && bound[0]->flavor == Flavor::NdArray;
  const V array = is_array ? bound[0] : array_value(as_tensor(ev, bound[0]));
  const DType dtype =
      bound[1] && !ev.is_none(bound[1]) ? to_dtype(ev, bound[1], "dtype") : array->tensor.dtype();
  if (array->tensor.dim() == 0) {
    return array_value(
        ops::call1("reshape", {copy_tensor(array->tensor, dtype)}, {{"shape", SymShape{Sym(1)}}}));
  }
  if (dtype == array->tensor.dtype() && is_contiguous(array, kFortran)) return array;
  V value = array_value(copy_tensor(array->tensor, dtype));
  value->f_order = kFortran && value->tensor.dim() > 1;
  return value;
}

V in_order(Evaluator& ev, const V& array, const V& order, const char* otherwise) {
  const bool fortran = wants_fortran(ev, order, array, otherwise);
  if (is_contiguous(array, fortran)) return array;
  V value = array_value(copy_tensor(array->tensor));
  value->f_order = fortran;
  return value;
}

V asarray(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, dtype, order, *, device, copy");
  ev.realize(bound[0]);
  const bool copies = bound[4] && !ev.is_none(bound[4]);
  if (copies && !ev.truth(bound[4])) graph_break("asarray() with copy=False");
  V array = bound[0]->kind == Kind::Array && bound[0]->flavor == Flavor::NdArray
                ? bound[0]
                : array_value(as_tensor(ev, bound[0]));
  const DType dtype =
      bound[1] && !ev.is_none(bound[1]) ? to_dtype(ev, bound[1], "dtype") : array->tensor.dtype();
  if (is_complex(array->tensor.dtype()) && !is_complex(dtype))
    graph_break("a cast that discards imaginary parts");
  check_storable(ev, bound[0], dtype);
  if (dtype != array->tensor.dtype() || copies) array = copy_of(array, dtype);
  const std::string order = bound[2] && !ev.is_none(bound[2]) ? ev.to_string(bound[2], "order") : "K";
  return order == "K" || order == "A" ? array : in_order(ev, array, bound[2], "K");
}

V array(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, dtype, *, copy, order, subok, ndmin");
  CallArgs plain;
  plain.args = {bound[0], bound[1] ? bound[1] : none_value()};
  V value = asarray(ev, plain);
  const bool copies = !bound[2] || (!ev.is_none(bound[2]) && ev.truth(bound[2]));
  if (bound[2] && !ev.is_none(bound[2]) && !copies) graph_break("array() with copy=False");
  if (value == bound[0] && copies) {
    V copied = array_value(copy_tensor(value->tensor));
    copied->f_order = value->f_order;
    value = copied;
  }
  if (bound[3] && !ev.is_none(bound[3])) {
    const std::string order = ev.to_string(bound[3], "order");
    if (order != "K" && order != "A") value = in_order(ev, value, bound[3], "K");
  }
  const int64_t ndim = bound[5] ? ev.to_int(bound[5], "ndmin") : 0;
  if (value->tensor.dim() >= ndim) return value;
  SymShape shape = ops::sym_shape(value->tensor);
  shape.insert(shape.begin(), static_cast<size_t>(ndim) - shape.size(), Sym(1));
  return view(value, ops::call1("reshape", {value->tensor}, {{"shape", shape}}));
}

template <int kFill>  // 0, 1; 2: empty
V filled(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "shape, dtype, order, *, device");
  const DType dtype = bound[1] && !ev.is_none(bound[1]) ? to_dtype(ev, bound[1], "dtype") : DType::F64;
  const SymShape shape = to_shape(ev, bound[0], "a shape");
  for (Sym size : shape)
    if (size.hint() < 0) graph_break("a negative size");
  V value = array_value(
      ops::call1("full", {}, {{"shape", shape}, {"value", Scalar(int64_t{kFill == 1})}, {"dtype", dtype}}));
  value->f_order = wants_fortran(ev, bound[2], value, "C");
  return value;
}

// A number as the fill of a new array.
V fill_array(Evaluator& ev, const SymShape& shape, const V& value, std::optional<DType> dtype) {
  Tensor fill = as_tensor(ev, value);
  if (dtype) check_storable(ev, value, *dtype);
  fill = cast_to(fill, dtype.value_or(fill.dtype()));
  if (!fill.is_traced()) {
    if (fill.dim() != 0) graph_break("an array filled with a known array");
    return array_value(
        ops::call1("full", {}, {{"shape", shape}, {"value", fill.item()}, {"dtype", fill.dtype()}}));
  }
  return array_value(copy_tensor(ops::call1("expand", {fill}, {{"shape", shape}})));
}

V full(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "shape, fill_value, dtype, order, *, device");
  const SymShape shape = to_shape(ev, bound[0], "a shape");
  std::optional<DType> dtype;
  if (bound[2] && !ev.is_none(bound[2])) dtype = to_dtype(ev, bound[2], "dtype");
  V value = fill_array(ev, shape, bound[1], dtype);
  value->f_order = wants_fortran(ev, bound[3], value, "C");
  return value;
}

// What the arrays like another have in common: the shape, and whether they lie in Fortran order.
struct Like {
  Tensor tensor;
  SymShape shape;
  bool fortran;
};
Like like(Evaluator& ev, const V& prototype, const V& order, const V& shape) {
  const V array =
      ev.realize(prototype)->kind == Kind::Array ? prototype : array_value(as_tensor(ev, prototype));
  Like result{array->tensor, ops::sym_shape(array->tensor), wants_fortran(ev, order, array, "K")};
  if (!shape || ev.is_none(shape)) return result;
  result.shape = to_shape(ev, shape, "a shape");
  if (result.shape.size() != static_cast<size_t>(array->tensor.dim()))
    result.fortran = wants_fortran(ev, order, array_value(array->tensor), "C");
  return result;
}

template <int kFill>
V filled_like(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, dtype, order, subok, shape, *, device");
  const Like form = like(ev, bound[0], bound[2], bound[4]);
  const DType dtype =
      bound[1] && !ev.is_none(bound[1]) ? to_dtype(ev, bound[1], "dtype") : form.tensor.dtype();
  V value = array_value(ops::call1(
      "full", {}, {{"shape", form.shape}, {"value", Scalar(int64_t{kFill == 1})}, {"dtype", dtype}}));
  value->f_order = form.fortran && form.shape.size() > 1;
  return value;
}

V full_like(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, fill_value, dtype, order, subok, shape, *, device");
  const Like form = like(ev, bound[0], bound[3], bound[5]);
  const DType dtype =
      bound[2] && !ev.is_none(bound[2]) ? to_dtype(ev, bound[2], "dtype") : form.tensor.dtype();
  V value = fill_array(ev, form.shape, bound[1], dtype);
  value->f_order = form.fortran && form.shape.size() > 1;
  return value;
}

V where(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "condition, x, y");
  if (!bound[1] || !bound[2]) graph_break("where() with one argument");
  Tensor condition = cast_to(as_tensor(ev, bound[0]), DType::Bool);
  V x = bound[1], y = bound[2];
  // The branches are promoted as operands of an addition are.
  const auto operand = [&](const V& v) -> ops::Operand {
    if (ev.is_arraylike(v) && v->is_const()) {
      PyObject* o = v->object.get();
      if (PyBool_Check(o)) return Scalar(o == Py_True);
      if (PyLong_CheckExact(o)) return Scalar(static_cast<int64_t>(PyLong_AsLongLong(o)));
      if (PyFloat_CheckExact(o)) return Scalar(PyFloat_AS_DOUBLE(o));
    }
    if (v->kind == Kind::SymInt) return Scalar(int64_t{1});
    if (v->kind == Kind::Scalar && v->weak == WeakKind::Float) return Scalar(1.0);
    return as_tensor(ev, v);
  };
  const std::vector<ops::Operand> operands = {operand(x), operand(y)};
  const DType dtype =
      std::holds_alternative<Scalar>(operands[0]) && std::holds_alternative<Scalar>(operands[1])
          ? promote_types(as_tensor(ev, x).dtype(), as_tensor(ev, y).dtype(), Promotion::NumPy)
          : ops::promoted_types(ops::get_op("maximum"), operands, Promotion::NumPy).compute;
  V result = array_value(
      ops::call1("where", {condition, cast_to(as_tensor(ev, x), dtype), cast_to(as_tensor(ev, y), dtype)}));
  bool any_f = false, any_c = false;
  for (const V& value : {bound[0], x, y})
    if (value->kind == Kind::Array && value->tensor.dim() > 1) (value->f_order ? any_f : any_c) = true;
  result->f_order = any_f && !any_c;
  return result;
}

V clip(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, a_min, a_max, out, *, min, max");
  const V low = bound[1] ? bound[1] : bound[4], high = bound[2] ? bound[2] : bound[5];
  if (bound[3] && !ev.is_none(bound[3])) graph_break("clip() with out=");
  V value = bound[0];
  if (low && !ev.is_none(low)) value = numpy_pointwise(ev, "maximum", {value, low});
  if (high && !ev.is_none(high)) value = numpy_pointwise(ev, "minimum", {value, high});
  return value == bound[0] ? copy_of(value, value->tensor.dtype()) : value;
}

std::vector<Tensor> promoted_parts(Evaluator& ev, const V& sequence) {
  std::vector<Tensor> parts;
  DType dtype = DType::Bool;
  for (const V& item : ev.elements(sequence)) {
    parts.push_back(as_tensor(ev, item));
    dtype =
        parts.size() == 1 ? parts[0].dtype() : promote_types(dtype, parts.back().dtype(), Promotion::NumPy);
  }
  if (parts.empty()) graph_break("joining of no arrays");
  for (Tensor& part : parts) part = cast_to(part, dtype);
  return parts;
}

V concatenate(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "arrays, axis");
  std::vector<Tensor> parts = promoted_parts(ev, bound[0]);
  ops::Attrs attrs{{"dim", Sym(0)}};
  if (bound[1] && ev.is_none(bound[1])) graph_break("concatenate() of flattened arrays");
  if (bound[1]) attrs.set("dim", Sym(ev.to_int(bound[1], "axis")));
  V value = array_value(ops::call1("concatenate", parts, attrs));
  value->f_order = value->tensor.dim() > 1;
  for (const V& item : ev.elements(bound[0])) value->f_order &= ev.realize(item)->f_order;
  return value;
}

template <int kWhich>
V join(Evaluator& ev, CallArgs& args) {
  static constexpr const char* kNames[] = {"stack", "hstack", "vstack", "dstack", "column_stack"};
  std::vector<V> bound = bind_arguments(args, kWhich == 0 ? "arrays, axis" : "arrays");
  std::vector<Tensor> parts = promoted_parts(ev, bound[0]);
  ops::Attrs attrs;
  if (kWhich == 0) attrs.set("dim", Sym(bound[1] ? ev.to_int(bound[1], "axis") : 0));
  return array_value(ops::call1(kNames[kWhich], parts, attrs));
}

V arange(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "start, stop, step, dtype");
  Ref tuple = checked(PyList_New(0));
  for (size_t i = 0; i < 3; ++i) {
    if (!bound[i]) continue;
    Ref object = ev.constant(bound[i]);
    if (!object && bound[i]->kind == Kind::SymInt) object = int_value(sym_specialize(bound[i]->sym))->object;
    if (!object) graph_break("arange() of computed numbers");
    PyList_Append(tuple.get(), object.get());
  }
  // A known sequence: as NumPy makes it.
  Ref numpy = checked(PyImport_ImportModule("numpy")),
      function = checked(PyObject_GetAttrString(numpy.get(), "arange"));
  Ref made = checked(PyObject_Call(function.get(), checked(PyList_AsTuple(tuple.get())).get(), nullptr));
  auto* np = reinterpret_cast<PyArrayObject*>(made.get());
  if (!dtype_of_descr(PyArray_DESCR(np))) graph_break("arange() of objects");
  Tensor tensor = borrow_array(np).clone();
  if (bound[3] && !ev.is_none(bound[3])) tensor = tensor.to(to_dtype(ev, bound[3], "dtype"));
  return array_value(copy_tensor(tensor));
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

template <DType kDType>
V scalar_type(Evaluator& ev, CallArgs& args) {
  if (args.args.size() != 1 || !args.keywords.empty()) graph_break("a NumPy scalar of several arguments");
  check_storable(ev, args.args[0], kDType);
  return array_or_scalar(cast_to(as_tensor(ev, args.args[0]), kDType));
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
  result->tensor = cast_to(flat, dtype == DType::Bool ? dtype
                                 : is_integral(dtype) ? DType::I64
                                 : is_complex(dtype)  ? DType::C128
                                                      : DType::F64);
  return result;
}

V fill(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, value");
  const V& array = array_argument(ev, bound[0]);
  if (array->flavor == Flavor::NumpyScalar) return none_value();  // NumPy fills a copy
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
    V part = array_value(ops::call1(name, {tensor}), array->flavor);
    part->f_order = array->f_order;
    if (!is_complex(tensor.dtype()) || array->flavor == Flavor::NumpyScalar) return part;
    // A view in NumPy: given to Python as the attribute, and neither it nor the array is assigned to.
    part->name = name;
    part->items = {array};
    V root = array;
    while (root->view_of) root = root->view_of;
    root->partly_viewed = true;
    return part;
  }
  if (name == "device") return str_value("cpu");
  if (AttributeLowering lowering = find_array_attribute(name)) return lowering(ev, array);
  return nullptr;
}

void register_numpy_shapes() {
  const std::pair<const char*, Lowering> functions[] = {{"transpose", transpose},
                                                        {"swapaxes", swapaxes},
                                                        {"reshape", reshape},
                                                        {"ravel", ravel<false>},
                                                        {"expand_dims", expand_dims},
                                                        {"squeeze", squeeze},
                                                        {"copy", copy<false>},
                                                        {"asarray", asarray},
                                                        {"asanyarray", asarray},
                                                        {"array", array},
                                                        {"ascontiguousarray", as_contiguous<false>},
                                                        {"asfortranarray", as_contiguous<true>},
                                                        {"zeros", filled<0>},
                                                        {"ones", filled<1>},
                                                        {"empty", filled<2>},
                                                        {"full", full},
                                                        {"zeros_like", filled_like<0>},
                                                        {"ones_like", filled_like<1>},
                                                        {"empty_like", filled_like<2>},
                                                        {"full_like", full_like},
                                                        {"where", where},
                                                        {"clip", clip},
                                                        {"concatenate", concatenate},
                                                        {"stack", join<0>},
                                                        {"hstack", join<1>},
                                                        {"vstack", join<2>},
                                                        {"dstack", join<3>},
                                                        {"column_stack", join<4>},
                                                        {"arange", arange},
                                                        {"matmul", matmul},
                                                        {"dot", dot},
                                                        {"shape", shape_function},
                                                        {"ndim", ndim_function},
                                                        {"float64", scalar_type<DType::F64>},
                                                        {"float32", scalar_type<DType::F32>},
                                                        {"int64", scalar_type<DType::I64>},
                                                        {"int32", scalar_type<DType::I32>},
                                                        {"bool_", scalar_type<DType::Bool>},
                                                        {"uint8", scalar_type<DType::U8>}};
  for (const auto& [name, lowering] : functions)
    register_lowering((std::string("numpy.") + name).c_str(), lowering);
  const std::pair<const char*, Lowering> methods[] = {
      {"transpose", transpose}, {"swapaxes", swapaxes}, {"reshape", reshape}, {"ravel", ravel<false>},
      {"flatten", ravel<true>}, {"squeeze", squeeze},   {"astype", astype},   {"copy", copy<true>},
      {"clip", clip},           {"dot", dot},           {"item", item},       {"fill", fill}};
  for (const auto& [name, lowering] : methods) register_array_method(name, lowering);
}

}  // namespace weft::capture
