// NumPy's arrays made new: copies, casts, constants, ranges, and their memory order.
#include <fmt/format.h>

#include <optional>

#include "capture/numpy_api.h"
#include "capture/numpy_names.h"
#include "weft/error.h"

namespace weft::capture {

Tensor copy_tensor(const Tensor& tensor, DType dtype) {
  return ops::call1("cast", {tensor}, {{"dtype", dtype}});
}
Tensor copy_tensor(const Tensor& tensor) { return copy_tensor(tensor, tensor.dtype()); }

V copy_of(const V& array, DType dtype) {
  V value = array_value(copy_tensor(array->tensor, dtype));
  value->f_order = array->f_order;
  return value;
}

namespace {

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
    if (is_array && dtype == array->tensor.dtype())
      return view(array, ops::call1("reshape", {array->tensor}, {{"shape", SymShape{Sym(1)}}}));
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

template <DType kDType>
V scalar_type(Evaluator& ev, CallArgs& args) {
  if (args.args.size() != 1 || !args.keywords.empty()) graph_break("a NumPy scalar of several arguments");
  check_storable(ev, args.args[0], kDType);
  return array_or_scalar(cast_to(as_tensor(ev, args.args[0]), kDType));
}

}  // namespace

void register_numpy_creation() {
  const std::pair<const char*, Lowering> functions[] = {{"copy", copy<false>},
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
                                                        {"arange", arange},
                                                        {"float64", scalar_type<DType::F64>},
                                                        {"float32", scalar_type<DType::F32>},
                                                        {"int64", scalar_type<DType::I64>},
                                                        {"int32", scalar_type<DType::I32>},
                                                        {"bool_", scalar_type<DType::Bool>},
                                                        {"uint8", scalar_type<DType::U8>}};
  for (const auto& [name, lowering] : functions)
    register_lowering((std::string("numpy.") + name).c_str(), lowering);
  register_array_method("astype", astype);
  register_array_method("copy", copy<true>);
}

}  // namespace weft::capture
