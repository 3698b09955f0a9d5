// NumPy's arrays made new: copies, casts, constants, ranges, and their memory order.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"
#include "core/memory_limit.h"
#include "weft/error.h"

namespace weft::capture {

void refuse_beyond_memory(const V& array) {
  double bytes = static_cast<double>(itemsize(array->tensor.dtype()));
  for (Sym size : ops::sym_shape(array->tensor)) bytes *= static_cast<double>(size.hint());
  if (bytes > static_cast<double>(total_memory())) graph_break("an array that is larger than the machine's memory");
}

Tensor copy_tensor(const Tensor& tensor, DType dtype) {
  return ops::call1("cast", {tensor}, {{"dtype", dtype}});
}
Tensor copy_tensor(const Tensor& tensor) { return copy_tensor(tensor, tensor.dtype()); }

V copy_of(const V& array, DType dtype) {
  return laid_out(array_value(copy_tensor(array->tensor, dtype)), copy_order(array));
}

Tensor symbolic_range(Evaluator& ev, const V& start, const V& stop, const V& step) {
  std::array<Sym, 3> given{Sym(0), Sym(0), Sym(1)};
  bool is_symbolic = false;
  const V* const values[] = {&start, &stop, &step};
  for (size_t i = 0; i < given.size(); ++i) {
    const V& value = *values[i];
    if (!value || ev.is_none(value)) continue;
    const Ref object = ev.realize(value)->kind == Kind::SymInt ? Ref() : ev.constant(value);
    if (value->kind != Kind::SymInt && !(object && PyLong_CheckExact(object.get()))) return {};
    is_symbolic |= value->kind == Kind::SymInt;
    given[i] = ev.to_sym(value, "a number of arange()");
  }
  const auto& [first, last, stride] = given;
  if (!is_symbolic || !stride.is_constant() || stride.constant() == 0) return {};
  // Downwards as upwards between the negative numbers.
  const bool is_up = stride.constant() > 0;
  const Sym from = is_up ? first : -first, to = is_up ? last : -last, width = is_up ? stride : -stride;
  const bool is_empty = !sym_lt(from, to);
  if (is_empty && !sym_eq(from, to)) return {};  // which NumPy takes and PyTorch refuses
  const Sym size = is_empty ? Sym(0) : floor_div(to - from + width - Sym(1), width);
  const Scalar by(stride.constant());
  const auto counted = [&](int64_t from) {
    return ops::call1("iota", {},
                      {{"size", size}, {"start", Scalar(from)}, {"step", by}, {"dtype", DType::I64}});
  };
  if (first.is_constant()) return counted(first.constant());
  return ops::invoke("add", {counted(0), as_tensor(ev, start)});
}

namespace {

// The order that order= asks for of an array's copy, where `otherwise` is the default.
AxisOrder wanted_order(Evaluator& ev, const V& order, const V& array, const char* otherwise) {
  const std::string text = order && !ev.is_none(order) ? ev.to_string(order, "order") : otherwise;
  if (text == "F") return fortran_order(array->tensor.dim());
  if (text == "C") return {};
  if (text == "K") return copy_order(array);
  if (text != "A") graph_break("an unknown memory order");
  return order_if_fortran(array->tensor);
}

// Whether an array that may lie in this order has to be copied for it.
bool is_laid_out(Evaluator& ev, const V& array, const V& order) {
  const std::string text = ev.is_none(order) ? "K" : ev.to_string(order, "order");
  if (text == "K" || text == "A") return true;
  if (text != "C" && text != "F") graph_break("an unknown memory order");
  return is_contiguous(array->tensor, text == "F");
}

void check_device(Evaluator& ev, const V& device) {
  if (device && !ev.is_none(device) && ev.to_string(device, "device") != "cpu") graph_break("another device");
}

// New arrays are laid out in C or Fortran order.
AxisOrder order_of_new(Evaluator& ev, const V& order, const V& value) {
  const std::string text = order && !ev.is_none(order) ? ev.to_string(order, "order") : "C";
  if (text != "C" && text != "F") graph_break("an unknown memory order");
  return wanted_order(ev, order, value, "C");
}

V astype(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, dtype, order, casting, subok, copy");
  const V& array = array_argument(ev, bound[0]);
  const DType dtype = to_dtype(ev, bound[1], "dtype"), from = array->tensor.dtype();
  if (is_complex(from) && !is_complex(dtype)) graph_break("a cast that discards imaginary parts");
  const std::string casting = bound[3] ? ev.to_string(bound[3], "casting") : "unsafe";
  if (casting != "unsafe" && dtype != from && (casting != "same_kind" || info(from).kind > info(dtype).kind))
    graph_break(fmt::format("astype() with casting={}", casting));
  const AxisOrder order = wanted_order(ev, bound[2], array, "K");
  if (bound[5] && !ev.truth(bound[5]) && dtype == from && (!bound[2] || is_laid_out(ev, array, bound[2])))
    return array;
  return laid_out(array_value(copy_tensor(array->tensor, dtype), array->flavor), order);
}

// numpy.copy keeps the order, the method gives C order.
template <bool kMethod>
V copy(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, order, subok");
  V array = ev.realize(bound[0])->kind == Kind::Array ? bound[0] : array_value(as_tensor(ev, bound[0]));
  const V value = array_value(copy_tensor(array->tensor), kMethod ? array->flavor : Flavor::NdArray);
  return laid_out(value, wanted_order(ev, bound[1], array, kMethod ? "C" : "K"));
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
  if (dtype == array->tensor.dtype() && is_contiguous(array->tensor, kFortran)) return array;
  return laid_out(array_value(copy_tensor(array->tensor, dtype)),
                  kFortran ? fortran_order(array->tensor.dim()) : AxisOrder());
}

V in_order(Evaluator& ev, const V& array, const V& order) {
  if (is_laid_out(ev, array, order)) return array;
  return laid_out(array_value(copy_tensor(array->tensor)), wanted_order(ev, order, array, "K"));
}

// What copy= says; nothing where it is None or absent.
std::optional<bool> wants_copy(Evaluator& ev, const V& copy) {
  if (!given(ev, copy)) return {};
  if (!copy->is(Py_True) && !copy->is(Py_False)) graph_break("copy= that is no truth value");
  return copy->is(Py_True);
}

V asarray(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, dtype, order, *, device, copy");
  ev.realize(bound[0]);
  check_device(ev, bound[3]);
  const std::optional<bool> copy = wants_copy(ev, bound[4]);
  const bool copies = copy.value_or(false);
  if (copy && !copies) graph_break("asarray() with copy=False");
  V array = bound[0]->kind == Kind::Array && bound[0]->flavor == Flavor::NdArray
                ? bound[0]
                : array_value(as_tensor(ev, bound[0]));
  const DType dtype =
      bound[1] && !ev.is_none(bound[1]) ? to_dtype(ev, bound[1], "dtype") : array->tensor.dtype();
  if (is_complex(array->tensor.dtype()) && !is_complex(dtype))
    graph_break("a cast that discards imaginary parts");
  check_storable(ev, bound[0], dtype);
  if (dtype != array->tensor.dtype() || copies) array = copy_of(array, dtype);
  return bound[2] ? in_order(ev, array, bound[2]) : array;
}

V array(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, dtype, *, copy, order, subok, ndmin");
  CallArgs plain;
  plain.args = {bound[0], bound[1] ? bound[1] : none_value()};
  V value = asarray(ev, plain);
  const std::optional<bool> copy = wants_copy(ev, bound[2]);
  const bool copies = copy.value_or(!bound[2]);
  if (copy && !copies) graph_break("array() with copy=False");
  if (value == bound[0] && copies) value = copy_of(value, value->tensor.dtype());
  if (bound[3]) value = in_order(ev, value, bound[3]);
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
  check_device(ev, bound[3]);
  const SymShape shape = to_shape(ev, bound[0], "a shape");
  for (Sym size : shape)
    if (size.hint() < 0) graph_break("a negative size");
  V value = array_value(
      ops::call1("full", {}, {{"shape", shape}, {"value", Scalar(int64_t{kFill == 1})}, {"dtype", dtype}}));
  refuse_beyond_memory(value);
  return laid_out(value, order_of_new(ev, bound[2], value));
}

// numpy.ndarray(shape): as numpy.empty.
V new_ndarray(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "shape, dtype, buffer, offset, strides, order");
  for (const size_t of_memory : {2, 3, 4})
    if (given(ev, bound[of_memory])) graph_break("an ndarray over given memory");
  CallArgs empty;
  empty.args = {bound[0]};
  if (bound[1]) empty.keywords.emplace_back("dtype", bound[1]);
  if (bound[5]) empty.keywords.emplace_back("order", bound[5]);
  return filled<2>(ev, empty);
}

Tensor filled_with(const SymShape& shape, Scalar value, DType dtype, Device device) {
  ops::Attrs attrs{{"shape", shape}, {"value", value}, {"dtype", dtype}};
  if (device != Device{}) attrs.set("device", device);
  return ops::call1("full", {}, std::move(attrs));
}

// A number as the fill of a new array.
V fill_array(Evaluator& ev, const SymShape& shape, const V& value, std::optional<DType> dtype,
             Device device = {}) {
  Tensor fill = as_tensor(ev, value);
  if (dtype) check_storable(ev, value, *dtype);
  fill = cast_to(fill, dtype.value_or(fill.dtype()));
  if (!fill.is_traced()) {
    if (fill.dim() != 0) graph_break("an array filled with a known array");
    return array_value(filled_with(shape, fill.item(), fill.dtype(), device));
  }
  if (fill.device() == Device{} && device != Device{}) fill = fill.to(device);
  return array_value(copy_tensor(ops::call1("expand", {fill}, {{"shape", shape}})));
}

V full(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "shape, fill_value, dtype, order, *, device");
  check_device(ev, bound[4]);
  const SymShape shape = to_shape(ev, bound[0], "a shape");
  std::optional<DType> dtype;
  if (bound[2] && !ev.is_none(bound[2])) dtype = to_dtype(ev, bound[2], "dtype");
  V value = fill_array(ev, shape, bound[1], dtype);
  refuse_beyond_memory(value);
  return laid_out(value, order_of_new(ev, bound[3], value));
}

// What the arrays like another have in common.
struct Like {
  Tensor tensor;
  SymShape shape;
  AxisOrder order;
};
Like like(Evaluator& ev, const V& prototype, const V& order, const V& shape) {
  const V array =
      ev.realize(prototype)->kind == Kind::Array ? prototype : array_value(as_tensor(ev, prototype));
  Like result{array->tensor, ops::sym_shape(array->tensor), wanted_order(ev, order, array, "K")};
  if (!shape || ev.is_none(shape)) return result;
  result.shape = to_shape(ev, shape, "a shape");
  if (result.shape.size() != static_cast<size_t>(array->tensor.dim()))
    result.order = order && !ev.is_none(order) && ev.to_string(order, "order") == "F"
                       ? fortran_order(static_cast<int64_t>(result.shape.size()))
                       : AxisOrder();
  return result;
}

template <int kFill>
V filled_like(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, dtype, order, subok, shape, *, device");
  check_device(ev, bound[5]);
  const Like form = like(ev, bound[0], bound[2], bound[4]);
  const DType dtype =
      bound[1] && !ev.is_none(bound[1]) ? to_dtype(ev, bound[1], "dtype") : form.tensor.dtype();
  V value = array_value(filled_with(form.shape, Scalar(int64_t{kFill == 1}), dtype, form.tensor.device()));
  refuse_beyond_memory(value);
  return laid_out(value, form.order);
}

V full_like(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, fill_value, dtype, order, subok, shape, *, device");
  check_device(ev, bound[6]);
  const Like form = like(ev, bound[0], bound[3], bound[5]);
  const DType dtype =
      bound[2] && !ev.is_none(bound[2]) ? to_dtype(ev, bound[2], "dtype") : form.tensor.dtype();
  if (is_complex(as_tensor(ev, bound[1]).dtype()) && !is_complex(dtype))
    graph_break("a cast that discards imaginary parts");
  V value = fill_array(ev, form.shape, bound[1], dtype, form.tensor.device());
  refuse_beyond_memory(value);
  return laid_out(value, form.order);
}

// A new value in the memory order of what numpy.empty_like gives.
V laid_out_like(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "value, array, order");
  const V &value = ev.realize(bound[0]), &array = ev.realize(bound[1]);
  if (value->kind != Kind::Array || array->kind != Kind::Array || value->tensor.dim() != array->tensor.dim())
    return value;
  const AxisOrder order = wanted_order(ev, bound[2], array, "K");
  return laid_out(value->view_of || value->input >= 0 ? array_value(copy_tensor(value->tensor)) : value,
                  order);
}

// A new value in the memory order of what is made of these arrays element by element.
V laid_out_by(Evaluator& ev, CallArgs& args) {
  const V& value = ev.realize(args.args.at(0));
  if (value->kind != Kind::Array) return value;
  for (const V& operand : args.args) ev.realize(operand);
  return laid_out_as(value->view_of || value->input >= 0 ? array_value(copy_tensor(value->tensor)) : value,
                     {args.args.begin() + 1, args.args.end()});
}

V is_in_c_order(Evaluator& ev, CallArgs& args) {
  const V& array = array_argument(ev, args.args.at(0));
  return bool_value(is_contiguous(array->tensor, false));
}

V arange(Evaluator& ev, CallArgs& args) {
  static constexpr const char* kNames[] = {"start", "stop", "step"};
  std::vector<V> bound = bind_arguments(args, "start, stop, step, dtype, *, device");
  if (!bound[0]) graph_break("arange() without a start");
  check_device(ev, bound[4]);
  const bool has_stop = given(ev, bound[1]);
  if (!given(ev, bound[3]))
    if (Tensor range =
            symbolic_range(ev, has_stop ? bound[0] : nullptr, has_stop ? bound[1] : bound[0], bound[2]);
        range.defined())
      return array_value(range);
  Ref positional = checked(PyTuple_New(1)), keywords = checked(PyDict_New());
  for (size_t i = 0; i < 4; ++i) {
    if (!bound[i] || (i > 0 && ev.is_none(bound[i]))) continue;
    Ref object = ev.constant(bound[i]);
    if (!object && bound[i]->kind == Kind::SymInt) object = int_value(sym_specialize(bound[i]->sym))->object;
    if (!object) graph_break("arange() of computed numbers");
    if (i == 0)
      PyTuple_SET_ITEM(positional.get(), 0, object.release());
    else if (PyDict_SetItemString(keywords.get(), i == 3 ? "dtype" : kNames[i], object.get()) < 0)
      throw PythonError{};
  }
  // A known sequence: as NumPy makes it.
  Ref numpy = checked(PyImport_ImportModule("numpy")),
      function = checked(PyObject_GetAttrString(numpy.get(), "arange"));
  Ref made = checked(PyObject_Call(function.get(), positional.get(), keywords.get()));
  auto* np = reinterpret_cast<PyArrayObject*>(made.get());
  if (!dtype_of_descr(PyArray_DESCR(np))) graph_break("arange() of objects");
  return array_value(copy_tensor(borrow_array(np).clone()));
}

template <DType kDType>
V scalar_type(Evaluator& ev, CallArgs& args) {
  if (args.args.size() != 1 || !args.keywords.empty()) graph_break("a NumPy scalar of several arguments");
  check_storable(ev, args.args[0], kDType);
  return array_or_scalar(cast_to(as_tensor(ev, args.args[0]), kDType));
}

}  // namespace

void register_numpy_creation() {
  const std::pair<const char*, Lowering> functions[] = {{"numpy.copy", copy<false>},
                                                        {"numpy.asarray", asarray},
                                                        {"numpy.asanyarray", asarray},
                                                        {"numpy.array", array},
                                                        {"numpy.ascontiguousarray", as_contiguous<false>},
                                                        {"numpy.asfortranarray", as_contiguous<true>},
                                                        {"numpy.zeros", filled<0>},
                                                        {"numpy.ones", filled<1>},
                                                        {"numpy.empty", filled<2>},
                                                        {"numpy.ndarray", new_ndarray},
                                                        {"numpy.full", full},
                                                        {"numpy.zeros_like", filled_like<0>},
                                                        {"numpy.ones_like", filled_like<1>},
                                                        {"numpy.empty_like", filled_like<2>},
                                                        {"numpy.full_like", full_like},
                                                        {"numpy.arange", arange},
                                                        {"numpy.float64", scalar_type<DType::F64>},
                                                        {"numpy.float32", scalar_type<DType::F32>},
                                                        {"numpy.int64", scalar_type<DType::I64>},
                                                        {"numpy.int32", scalar_type<DType::I32>},
                                                        {"numpy.bool_", scalar_type<DType::Bool>},
                                                        {"numpy.uint8", scalar_type<DType::U8>}};
  for (const auto& [name, lowering] : functions) register_lowering(name, lowering);
  register_lowering("weft._entered._core.laid_out_like", laid_out_like);
  register_lowering("weft._entered._core.laid_out_by", laid_out_by);
  register_lowering("weft._entered._core.is_in_c_order", is_in_c_order);
  register_array_method("astype", astype);
  register_array_method("copy", copy<true>);
}

}  // namespace weft::capture
