// weft's functions that make tensors, sizes and devices, and those of dtypes and settings.
#include <array>

#include "bindings.h"
#include "capture/builtins/changing_numbers.h"
#include "capture/builtins/known_calls.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "ops/build.h"

namespace weft::capture {

// weft.from_numpy(array)
static V from_numpy(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "array");
  const V& array = bound[0] ? ev.realize(bound[0]) : bound[0];
  if (!array || array->kind != Kind::Array || array->flavor != Flavor::NdArray)
    graph_break("weft.from_numpy() of this object");
  V owner = array;
  while (owner->view_of) owner = owner->view_of;
  owner->of_numpy = true;
  return tensor_value(array);
}

// A copy of an array of NumPy's; null for anything else.
static V tensor_of_array(Evaluator& ev, const CallArgs& args) {
  if (args.args.size() != 1 || ev.realize(args.args[0])->kind != Kind::Array ||
      args.args[0]->flavor != Flavor::NdArray)
    return nullptr;
  DType dtype = args.args[0]->tensor.dtype();
  Device device = python::default_device();
  for (const auto& [key, value] : args.keywords) {
    if (ev.is_none(value) || (key == "requires_grad" && ev.realize(value)->is(Py_False))) continue;
    if (!ev.realize(value)->is_const()) return nullptr;
    if (key == "device") {
      device = python::device_of_python(value->object.get());
      continue;
    }
    if (key != "dtype") return nullptr;
    dtype = python::dtype_of_python(value->object.get());
  }
  const Tensor converted = cast_to(args.args[0]->tensor, dtype);
  return tensor_value(
      array_value(device == converted.device() ? copy_tensor(converted) : converted.to(device)));
}

// A function of weft._C's.
static Ref own_function(const char* name) {
  const Ref module = checked(PyImport_ImportModule("weft._C"));
  return checked(PyObject_GetAttrString(module.get(), name));
}

// A new tensor of numbers that are known.
static V new_tensor(Evaluator& ev, CallArgs& args) {
  if (V made = tensor_of_changing_numbers(ev, args)) return made;
  if (V made = tensor_of_array(ev, args)) return made;
  for (const V& arg : args.args)
    if (!ev.constant(arg) && ev.realize(arg)->kind != Kind::List)
      graph_break("a tensor of what is not known");
  const Ref made = call_with_known(args, own_function("tensor").get(), [&](const V& value) {
    Ref object = ev.realize(value)->is_const() ? value->object : ev.described(value);
    if (!object) graph_break("a tensor of what is not known");
    return object;
  });
  clear_error();
  const Tensor* const tensor = made ? captured_tensor(made.get()) : nullptr;
  if (!tensor || tensor->is_traced()) graph_break("a call of weft.tensor");
  const Tensor constant = ev.tracer().constant(tensor->to(Device{}));
  return tensor_value(array_value(constant.device() == tensor->device()
                                      ? ops::call1("cast", {constant}, {{"dtype", tensor->dtype()}})
                                      : constant.to(tensor->device())));
}

// weft.Size(sizes)
static V new_size(Evaluator& ev, CallArgs& args) {
  if (args.args.size() > 1 || !args.keywords.empty()) graph_break("a call of weft.Size with these arguments");
  std::vector<V> items = args.args.empty() ? std::vector<V>{} : ev.all_elements(args.args[0]);
  for (V& item : items) item = sym_value(ev.to_sym(item, "a size"));
  V size = tuple_value(std::move(items));
  size->object_type = size_class();
  return size;
}

// weft.device("cpu"), weft.device("cpu", 0)
static V new_device(Evaluator& ev, CallArgs& args) {
  return const_value(checked(call_with_known(args, own_function("device").get(), [&](const V& value) {
                               Ref object = ev.constant(value);
                               if (!object) graph_break("a device that is not known");
                               return object;
                             }).release()));
}

// A number that the program's course depends on: its value is a guard.
V pinned_number(Evaluator& ev, const CallArgs& args) {
  if (args.args.size() != 1 || !args.keywords.empty()) graph_break("a call of weft.nn._types.pinned");
  const V& value = ev.realize(args.args[0]);
  if (value->kind == Kind::Scalar && value->source) ev.capture_as_constant(value);
  return value;
}

// What depends on its arguments only, and on what captures are kept for: performed now.
template <const char* const& kName>
static V constant_call(Evaluator& ev, CallArgs& args) {
  Ref given = checked(PyTuple_New(static_cast<Py_ssize_t>(args.args.size())));
  if (!args.keywords.empty()) graph_break("a call by keyword of a function of dtypes");
  for (size_t i = 0; i < args.args.size(); ++i) {
    Ref argument = ev.constant(args.args[i]);
    if (!argument) graph_break("a function of dtypes with an argument that is not known");
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), argument.release());
  }
  return const_value(checked(PyObject_Call(own_function(kName).get(), given.get(), nullptr)));
}

constexpr const char* kPromoteTypes = "promote_types";
constexpr const char* kDefaultDType = "get_default_dtype";
constexpr const char* kDefaultDevice = "get_default_device";
constexpr const char* kAutocast = "_autocast";
constexpr const char* kSetAutocast = "_set_autocast";

// What is called from here on is recorded under this state; the program's is set when the segment has run.
static V set_autocast(Evaluator& ev, CallArgs& args) {
  ev.note_effect();
  return constant_call<kSetAutocast>(ev, args);
}

constexpr const char* kGradMode = "_grad_mode";
constexpr const char* kSetGradMode = "_set_grad_mode";

static V grad_mode_now(Evaluator& ev, CallArgs& args) {
  ev.guard_grad_mode();
  return constant_call<kGradMode>(ev, args);
}

static V set_grad_mode_now(Evaluator& ev, CallArgs& args) {
  ev.guard_grad_mode();
  ev.note_effect();
  return constant_call<kSetGradMode>(ev, args);
}

// weft.is_tensor(object)
static V is_tensor(Evaluator& ev, CallArgs& args) {
  if (args.args.size() + args.keywords.size() != 1)
    graph_break("a call of weft.is_tensor with these arguments");
  const V& value = ev.realize(args.args.empty() ? args.keywords[0].second : args.args[0]);
  return const_value(Ref::borrow(value->kind == Kind::Tensor ? Py_True : Py_False));
}

V extreme_of_tensors(Evaluator& ev, int compare, const std::vector<V>& items) {
  if (!ev.is_whole_graph() || items.size() != 2) return nullptr;
  const V& given = items[items[0]->kind == Kind::Tensor ? 0 : 1];
  if (given->kind != Kind::Tensor) return nullptr;
  const DType dtype = ev.realize(given->items[0])->tensor.dtype();
  const bool is_wide = dtype == DType::F32 || dtype == DType::F64 || dtype == DType::I64;
  std::array<Tensor, 2> operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    const V& item = items[i];
    if (item->kind == Kind::Tensor) {
      operands[i] = ev.realize(item->items[0])->tensor;
    } else {
      const bool is_number =
          item->is_const() && (PyLong_CheckExact(item->object.get()) ||
                               (PyFloat_CheckExact(item->object.get()) && is_floating(dtype)));
      if (!is_number || !is_wide) return nullptr;
      operands[i] = Tensor::scalar(*scalar_of(item->object.get()), dtype);
    }
    const bool is_alike = operands[i].dim() == 0 && operands[i].dtype() == dtype && !is_complex(dtype);
    if (!is_alike || item->is_array) return nullptr;
  }
  const Tensor better = ops::call1(compare == Py_LT ? "lt" : "gt", {operands[1], operands[0]});
  return tensor_value(array_value(ops::call1("where", {better, operands[1], operands[0]})));
}

// Arguments that lie in one memory are no such for the graph; what it makes lies apart.
static V may_overlap_now(Evaluator& ev, CallArgs& args) {
  if (args.args.size() != 2 || !args.keywords.empty()) graph_break("a call of weft._C._may_overlap");
  std::array<Tensor, 2> tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (ev.realize(args.args[i])->kind != Kind::Tensor) graph_break("a call of weft._C._may_overlap");
    tensors[i] = ev.realize(args.args[i]->items[0])->tensor;
  }
  if (ev.tracer().share_memory(tensors[0], tensors[1])) graph_break("out= in the memory of an operand");
  return const_value(Ref::borrow(Py_False));
}

void register_weft_tensors() {
  register_lowering("weft._C._may_overlap", may_overlap_now);
  register_lowering("weft._C.device", new_device);
  register_lowering("weft._C.from_numpy", from_numpy);
  register_lowering("weft._C.tensor", new_tensor);
  register_lowering("weft._C.is_tensor", is_tensor);
  register_lowering("weft.Size", new_size);
  register_lowering("weft._C.promote_types", constant_call<kPromoteTypes>);
  register_lowering("weft._C.get_default_dtype", constant_call<kDefaultDType>);
  register_lowering("weft._C.get_default_device", constant_call<kDefaultDevice>);
  register_lowering("weft._C._autocast", constant_call<kAutocast>);
  register_lowering("weft._C._set_autocast", set_autocast);
  register_lowering("weft._C._grad_mode", grad_mode_now);
  register_lowering("weft._C._set_grad_mode", set_grad_mode_now);
}

}  // namespace weft::capture
