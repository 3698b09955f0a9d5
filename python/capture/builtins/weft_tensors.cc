// weft.Tensor objects in NumPy programs: from_numpy() and .numpy() share memory and are no graph breaks;
// weft's operators on them are recorded by calling them with traced tensors.
#include "capture/builtins/weft_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "array.h"
#include "bindings.h"
#include "capture/builtins/changing_numbers.h"
#include "capture/builtins/device_tensors.h"
#include "capture/numpy/names.h"
#include "capture/objects/classes.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"
#include "core/default_dtype.h"
#include "ops/build.h"
#include "ops/range.h"
#include "ops/torch_rules.h"
#include "requires_grad.h"

// After the array API, which it uses.
#include <numpy/ufuncobject.h>

namespace weft::capture {

namespace {

const Tensor& tensor_of(Evaluator& ev, const V& value) { return ev.realize(value->items[0])->tensor; }

V owner_of(V array) {
  while (array->view_of) array = array->view_of;
  return array;
}

// What numbers that change are beside, as operands of an operator. A tensor of floating-point numbers keeps
// its dtype beside a 0-d one; beside integers a float has the default dtype.
enum class Beside : uint8_t { Nothing, Floats, Integers };

// The value as an object of Python's, for weft's own functions: tensors are traced ones.
Ref traced_object(Evaluator& ev, const V& value, Beside beside = Beside::Nothing) {
  ev.realize(value);
  const bool beside_floats = beside == Beside::Floats;
  const auto list_of = [&](const std::vector<V>& items) {
    Ref list = checked(PyList_New(0));
    for (const V& item : items)
      if (PyList_Append(list.get(), traced_object(ev, item).get()) < 0) throw PythonError{};
    return list;
  };
  switch (value->kind) {
    case Kind::Tensor: return object_of_tensor(tensor_of(ev, value), value->is_array);
    case Kind::List: return list_of(value->items);
    case Kind::Tuple:
      if (!value->object_type || value->object_type == size_class())
        return checked(PyList_AsTuple(list_of(value->items).get()));
      break;
    case Kind::Slice: {
      const Ref parts = list_of(value->items);
      PyObject** const part = PySequence_Fast_ITEMS(parts.get());
      return checked(PySlice_New(part[0], part[1], part[2]));
    }
    case Kind::SymInt: return object_of_size(value->sym);
    case Kind::Scalar:
      if (value->weak == WeakKind::Float && beside_floats) return object_of_tensor(value->tensor);
      if (value->weak == WeakKind::Float && beside == Beside::Integers)
        return object_of_tensor(cast_to(value->tensor, default_float()));
      if (Ref known = ev.known_number(value)) return known;
      if (value->source) ev.capture_as_constant(value);
      break;
    case Kind::Array:  // of NumPy's, as a Python number
      if (value->flavor == Flavor::NumpyScalar && beside_floats && is_floating(value->tensor.dtype()))
        return object_of_tensor(value->tensor);
      if (value->flavor == Flavor::NumpyScalar && !value->tensor.is_traced()) {  // of known numbers
        if (value->tensor.dtype() == DType::I64)
          return checked(PyLong_FromLongLong(value->tensor.item().to_int()));
        if (value->tensor.dtype() == DType::F64)
          return checked(PyFloat_FromDouble(value->tensor.item().to_double()));
      }
      break;
    default: break;
  }
  Ref object =
      value->is_const() && is_weft_constant(value->object.get()) ? value->object : ev.constant(value);
  if (!object) graph_break("an operator of weft's with an argument that is not known");
  return object;
}

// Results look at the memory of the argument that they are views of.
V viewed(Evaluator& ev, V array, const std::vector<V>& args) {
  for (const V& arg : args) {
    if (arg->kind == Kind::List || arg->kind == Kind::Tuple) array = viewed(ev, std::move(array), arg->items);
    if (arg->kind == Kind::Tensor && ev.tracer().share_memory(tensor_of(ev, arg), array->tensor))
      array->view_of = arg->items[0];
  }
  return array;
}

// Do its elements lie densely in memory, in whatever order of dimensions? With the sizes of this call.
bool is_dense(const Tensor& tensor) {
  int64_t last = 0, count = 1;
  const Shape& shape = tensor.impl()->shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    last += (shape[d] - 1) * tensor.strides()[d];
    count *= shape[d];
  }
  return last + 1 == count;
}

// A copy keeps its order of dimensions in memory where it leaves the graph, too.
V in_own_order(V array) {
  // Without elements, any order is as good; with some it is not.
  for (Sym size : ops::sym_shape(array->tensor))
    if (size.hint() == 0) sym_specialize(size);
  if (array->view_of || array->tensor.is_contiguous() || !is_dense(array->tensor)) return array;
  return laid_out(array, dense_order(array->tensor));
}

// What a call is given: objects of Python's, and what they stand for.
using Given = std::vector<std::pair<Ref, V>>;

V result_value(Evaluator& ev, PyObject* object, const std::vector<V>& args, const Given& given) {
  // One of them itself, as x.float() of a tensor of floats.
  for (const auto& [argument, value] : given)
    if (argument.get() == object && value->kind == Kind::Tensor) return value;
  if (const Tensor* tensor = python::tensor_of_python(object)) {
    if (!tensor->is_traced()) graph_break("a tensor that is no part of the graph");
    V value = tensor_value(in_own_order(viewed(ev, array_value(*tensor), args)));
    value->is_array = is_weft_array(object);
    value->requires_grad = python::requires_grad(object);
    return value;
  }
  if (!PyTuple_Check(object) && !PyList_Check(object)) return const_value(Ref::borrow(object));
  std::vector<V> items;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    items.push_back(result_value(ev, PySequence_Fast_GET_ITEM(object, i), args, given));
  if (PyList_Check(object)) return list_value(std::move(items));
  V tuple = tuple_value(std::move(items));
  if (!PyTuple_CheckExact(object)) {
    if (!is_named_tuple(Py_TYPE(object))) graph_break("a tuple of a class that weft does not know");
    tuple->object_type = Py_TYPE(object);
  }
  return tuple;
}

// Of a method or a function of weft's: does it change its first argument?
bool is_in_place(const std::string& name) { return name.ends_with("_") && !name.ends_with("__"); }

// Before the tensor is changed.
void prepare_change(Evaluator& ev, const V& target, const std::string& name) {
  static constexpr std::string_view kOfShape[] = {
      "resize_",   "resize_as_",     "set_",         "t_",       "transpose_",  "swapaxes_",
      "swapdims_", "squeeze_",       "unsqueeze_",   "_become_", "as_strided_", "unflatten_",
      "swap_",     "requires_grad_", "share_memory_"};
  if (std::find(std::begin(kOfShape), std::end(kOfShape), name) != std::end(kOfShape))
    graph_break(fmt::format("'{}' changes more of a tensor than its elements", name));
  if (target->kind != Kind::Tensor)
    graph_break(fmt::format("'{}' of an object that weft does not know", name));
  ev.prepare_mutation(ev.realize(target->items[0]));
}

enum class Changes : uint8_t { Nothing, First };

// A bool of Python's that depends on elements.
V truth_of(Evaluator& ev, const V& tensor) {
  V truth = make_value(Kind::Scalar);
  truth->weak = WeakKind::Bool;
  truth->tensor = tensor_of(ev, tensor);
  return truth;
}

// Numbers that PyTorch does not take for tensors: changing ones would be tensors in the graph.
bool gives_number_for_tensor(Evaluator& ev, const ops::OpDef& op, const std::vector<V>& all,
                             const CallArgs& args) {
  const uint8_t needed = ops::tensors_needed_by(op);
  if (needed == 0 || needed == ops::kSomeTensor || !python::torch_refuses(Promotion::Torch)) return false;
  const auto is_wrong = [&](size_t position, const V& value) {
    if (position >= 8 || (needed >> position & 1) == 0) return false;
    ev.realize(value);
    return value->kind == Kind::SymInt || value->kind == Kind::Scalar ||
           (value->is_const() && PyNumber_Check(value->object.get()));
  };
  for (size_t i = 0; i < all.size(); ++i)
    if (is_wrong(i, all[i])) return true;
  for (const auto& [key, value] : args.keywords)
    for (size_t i = 0; i < op.params.size(); ++i)
      if (op.params[i].name == key && is_wrong(i, value)) return true;
  return false;
}

// Is out= in the memory of an operand, though none of them itself? That, too, where the operator refuses it.
bool lies_in_an_operand(Evaluator& ev, const ops::OpDef* op, const V& out, const Given& given) {
  const bool may_be_one = !op || ops::out_rules_of(*op).refused != ops::OutRules::Overlap::Any;
  const auto is_out = [&](const V& value) { return value == out; };
  const bool is_operand = std::any_of(given.begin(), given.end(), [&](const auto& pair) {
    const std::vector<V>& items = pair.second->items;
    return is_out(pair.second) || std::any_of(items.begin(), items.end(), is_out);
  });
  if (!may_be_one && is_operand) return true;
  const auto is_within = [&](const V& operand) {
    return operand->kind == Kind::Tensor && ev.realize(operand->items[0]) != ev.realize(out->items[0]) &&
           ev.tracer().share_memory(tensor_of(ev, operand), tensor_of(ev, out));
  };
  return std::any_of(given.begin(), given.end(), [&](const auto& pair) {
    const V& operand = pair.second;
    const bool is_list = operand->kind == Kind::List || operand->kind == Kind::Tuple;
    return is_list ? std::any_of(operand->items.begin(), operand->items.end(), is_within)
                   : is_within(operand);
  });
}

V call_traced(Evaluator& ev, const Ref& function, const std::string& name, const std::vector<V>& all,
              size_t first, const CallArgs& args, Changes changes, Beside beside = Beside::Nothing,
              const Ref& self = Ref()) {
  PyObject* const plain =
      PyMethod_Check(function.get()) ? PyMethod_GET_FUNCTION(function.get()) : function.get();
  const auto* const op = python::operator_of_python(plain);
  const bool is_truth = op && op->schema.ends_with("-> bool");
  if (op && gives_number_for_tensor(ev, *op, all, args))
    graph_break(fmt::format("'{}' of a number, where PyTorch takes tensors", name));
  const V out = args.keyword("out");
  const bool writes_out = out && !ev.is_none(out);
  if (writes_out && ev.realize(out)->kind != Kind::Tensor) graph_break(fmt::format("'{}' with out=", name));
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(all.size() - first))),
      keywords = checked(PyDict_New());
  Given given;
  if (self) given.emplace_back(self, all[0]);
  for (size_t i = first; i < all.size(); ++i) {
    Ref argument = traced_object(ev, all[i], beside);
    given.emplace_back(argument, all[i]);
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i - first), argument.release());
  }
  for (const auto& [key, value] : args.keywords)
    if (PyDict_SetItemString(keywords.get(), key.c_str(), traced_object(ev, value).get()) < 0)
      throw PythonError{};
  if (is_of_two_devices(ev, name, all)) graph_break(fmt::format("'{}' of tensors on two devices", name));
  if (changes == Changes::First) prepare_change(ev, all.at(0), name);
  if (writes_out && lies_in_an_operand(ev, op, out, given)) graph_break("out= in the memory of an operand");
  if (writes_out) ev.prepare_mutation(ev.realize(out->items[0]));
  const Ref result = Ref::steal(python::calling_python(
      [&] { return PyObject_Call(function.get(), positional.get(), keywords.get()); }));
  if (!result) {
    clear_error();  // raised again when the call is performed for real
    graph_break(fmt::format("weft's '{}' of these tensors", name));
  }
  if (changes == Changes::First || writes_out) {
    ev.note_effect();
    return writes_out ? out : all[0];
  }
  std::vector<V> operands = all;
  for (const auto& [key, value] : args.keywords) operands.push_back(value);
  V made = result_value(ev, result.get(), operands, given);
  return is_truth && made->kind == Kind::Tensor ? truth_of(ev, made) : made;
}

}  // namespace

V tensor_value(V array) {
  V value = make_value(Kind::Tensor);
  value->items = {std::move(array)};
  return value;
}

bool has_tensor_value(Evaluator& ev, const CallArgs& args) {
  const auto is_tensor = [&](const V& value) {
    if (!value) return false;
    ev.realize(value);
    if (value->kind == Kind::Tensor) return true;
    return (value->kind == Kind::List || value->kind == Kind::Tuple) &&
           std::any_of(value->items.begin(), value->items.end(),
                       [&](const V& item) { return ev.realize(item)->kind == Kind::Tensor; });
  };
  return std::any_of(args.args.begin(), args.args.end(), is_tensor) ||
         std::any_of(args.keywords.begin(), args.keywords.end(),
                     [&](const auto& pair) { return is_tensor(pair.second); });
}

// weft.arange() of symbolic integers; null for other calls.
static V arange(Evaluator& ev, const CallArgs& args) {
  std::array<V, 3> bounds;
  if (args.args.empty() || args.args.size() > bounds.size()) return nullptr;
  std::copy(args.args.begin(), args.args.end(), bounds.begin());
  std::optional<DType> dtype;
  for (const auto& [key, value] : args.keywords) {
    if (ev.is_none(value)) continue;
    if (key == "step") {
      bounds[2] = value;
      continue;
    }
    if (key == "device" && ev.realize(value)->is_const() &&
        python::device_of_python(value->object.get()) == Device{})
      continue;
    if (key != "dtype" || !ev.realize(value)->is_const()) return nullptr;
    dtype = python::dtype_of_python(value->object.get());
  }
  if (args.args.size() == 1) std::swap(bounds[0], bounds[1]);
  const Tensor range = symbolic_range(ev, bounds[0], bounds[1], bounds[2]);
  if (range.defined()) {
    const DType made = dtype.value_or(DType::I64);
    if (made != DType::F16 && made != DType::BF16) return tensor_value(array_value(cast_to(range, made)));
    const Sym size = ops::sym_shape(range)[0];
    const auto number = [&](const V& bound, int64_t otherwise) {
      return ev.to_tensor(bound && !ev.is_none(bound) ? bound : int_value(otherwise));
    };
    return tensor_value(
        array_value(ops::range_in_runs(size, ev.to_tensor(sym_value(ops::whole_runs(size, made))),
                                       number(bounds[0], 0), number(bounds[2], 1), made)));
  }
  return range_of_changing_floats(ev, bounds[0] ? bounds[0] : int_value(0), bounds[1],
                                  bounds[2] ? bounds[2] : int_value(1), dtype.value_or(default_float()));
}

// Is a tensor of floating-point numbers among the operands, of which a 0-d one takes the dtype?
static bool are_beside_floats(Evaluator& ev, const std::vector<V>& operands) {
  return std::any_of(operands.begin(), operands.end(), [&](const V& operand) {
    return operand->kind == Kind::Tensor && is_floating(tensor_of(ev, operand).dtype()) &&
           tensor_of(ev, operand).dim() > 0;
  });
}

V call_on_tensors(Evaluator& ev, PyObject* callable, CallArgs& args) {
  const std::string name = callable_name(callable);
  const ops::OpDef* const op = python::operator_of_python(callable);
  if (op == ops::find_op("arange"))
    if (V range = arange(ev, args)) return range;
  if (V made = call_with_changing_numbers(ev, callable, args)) return made;
  const bool changes = is_in_place(name.substr(name.rfind('.') + 1)) && !args.args.empty();
  for (V& arg : args.args) arg = tensor_on_device(ev, arg);
  const bool promotes =
      op && (op->kind == ops::OpKind::Pointwise || op->promotes) && args.args.size() <= op->params.size() &&
      std::all_of(op->params.begin(), op->params.begin() + static_cast<std::ptrdiff_t>(args.args.size()),
                  [](const ops::Param& param) { return param.is_tensor(); });
  return call_traced(ev, Ref::borrow(callable), name, args.args, 0, args,
                     changes ? Changes::First : Changes::Nothing,
                     promotes && are_beside_floats(ev, args.args) ? Beside::Floats : Beside::Nothing);
}

// What is known of the traced tensor without an operation; null for other methods.
static V size_method(Evaluator& ev, const V& self, const std::string& name, const CallArgs& args) {
  const Tensor& tensor = tensor_of(ev, self);
  if (!args.keywords.empty()) return nullptr;
  if (name == "size" && args.args.empty()) return tensor_attribute(ev, self, "shape");
  if (name == "size" && args.args.size() == 1 && !ev.is_none(args.args[0])) {
    int64_t dim = ev.to_int(args.args[0], "a dimension");
    if (dim < 0) dim += tensor.dim();
    if (dim < 0 || dim >= tensor.dim()) return nullptr;
    return sym_value(ops::sym_shape(tensor)[static_cast<size_t>(dim)]);
  }
  if (!args.args.empty()) return nullptr;
  if (name == "dim" || name == "ndimension") return int_value(tensor.dim());
  if (name == "numel" || name == "nelement") return sym_value(product(ops::sym_shape(tensor)));
  return nullptr;
}

V call_tensor_method(Evaluator& ev, const V& self, const std::string& name, CallArgs& args) {
  if (name == "numpy" && args.args.empty() && args.keywords.empty()) {
    const V& array = ev.realize(self->items[0]);
    if (array->tensor.dtype() == DType::BF16) graph_break("numpy() of a bfloat16 tensor");
    owner_of(array)->of_numpy = true;
    return array;
  }
  if (V size = size_method(ev, self, name, args)) return size;
  if (name == "detach" && args.args.empty() && args.keywords.empty() && !self->is_array)
    return tensor_value(self->items[0]);
  if (name == "fill_")
    if (V filled = fill_with_changing_number(ev, self, args)) return filled;
  if (name == "requires_grad_") {
    const std::vector<V> bound = bind_arguments(args, "requires_grad");
    const V flag = bound[0] ? bound[0] : const_value(Ref::borrow(Py_True));
    if (!store_tensor_attribute(ev, self, "requires_grad", flag)) graph_break("requires_grad_() of a tensor");
    return self;
  }
  // A tensor that the function has made stands for another from now on.
  if (name == "_become_" && !self->source && args.args.size() == 1 &&
      ev.realize(args.args[0])->kind == Kind::Tensor) {
    self->items[0] = args.args[0]->items[0];
    return self;
  }
  static constexpr std::string_view kOfMemory[] = {"stride",         "storage_offset", "data_ptr",
                                                   "_storage_bytes", "tolist",         "item"};
  if (std::find(std::begin(kOfMemory), std::end(kOfMemory), name) != std::end(kOfMemory))
    graph_break(fmt::format("'{}' of a tensor", name));
  // Sizes of 0 and 1 lie in any order.
  if (name == "is_contiguous")
    for (const Sym& size : ops::sym_shape(tensor_of(ev, self)))
      if (sym_lt(size, 2)) sym_eq(size, 1);
  const char* const attribute = name == "size" ? "_sizes" : name.c_str();
  const Ref object = traced_object(ev, self),
            method = checked(PyObject_GetAttrString(object.get(), attribute));
  std::vector<V> all = args.args;
  for (const V& arg : all) ev.realize(arg);
  all.insert(all.begin(), self);
  return call_traced(ev, method, name, all, 1, args, is_in_place(name) ? Changes::First : Changes::Nothing,
                     Beside::Nothing, object);
}

// A method or a property of the class that is a Python function: entered, as functions are. Null for any
// other.
static V written_in_python(Evaluator& ev, const V& self, const std::string& name) {
  const Ref key = checked(PyUnicode_InternFromString(name.c_str()));
  PyObject* const found = _PyType_Lookup(tensor_class(self->is_array), key.get());
  if (!found) return nullptr;
  if (PyFunction_Check(found)) {
    // One that is looked up when it is first called is looked up now.
    PyObject* const attributes = reinterpret_cast<PyFunctionObject*>(found)->func_dict;
    PyObject* const resolve = attributes ? PyDict_GetItemString(attributes, "_resolve") : nullptr;
    const Ref function = resolve ? checked(PyObject_CallNoArgs(resolve)) : Ref::borrow(found);
    V method = make_value(Kind::Method);
    method->items = {self, ev.pinned(function.get())};
    return method;
  }
  if (Py_TYPE(found) != &PyProperty_Type) return nullptr;
  const Ref getter = checked(PyObject_GetAttrString(found, "fget"));
  return PyFunction_Check(getter.get()) ? ev.call_method_now(self, getter.get(), {}) : nullptr;
}

// Has a program given the object such an attribute?
static bool has_own_attribute(const V& self, const char* name) {
  if (!self->source || !self->object) return false;
  PyObject** const attributes = _PyObject_GetDictPtr(self->object.get());
  return attributes && *attributes && PyDict_GetItemString(*attributes, name);
}

bool store_tensor_attribute(Evaluator& ev, const V& self, const std::string& name, const V& value) {
  if (name == "requires_grad") {
    const bool is_on = ev.realize(value)->is(Py_True);
    if (self->source || (!is_on && !value->is(Py_False))) return false;
    if (is_on && !is_inexact(tensor_of(ev, self).dtype())) return false;
    self->requires_grad = is_on;
    ev.note_effect();
    return true;
  }
  if (name != "real" && name != "imag") return false;
  // One part is replaced, the other stays.
  const Tensor& tensor = tensor_of(ev, self);
  if (!is_complex(tensor.dtype())) return false;
  const DType part = real_dtype(tensor.dtype());
  const Ref given = traced_object(ev, value);
  const Tensor* const source = python::tensor_of_python(given.get());
  const std::optional<Scalar> number = source ? std::nullopt : python::scalar_of_python(given.get());
  if (!source && !number) graph_break("parts of complex numbers set to what is no number");
  const Tensor filled = ops::build::expand(
      ops::build::cast(source ? *source : Tensor::scalar(*number, part), part), ops::sym_shape(tensor));
  const bool is_real = name == "real";
  const Tensor other = ops::call1(is_real ? "imag" : "real", {tensor});
  const Tensor changed = ops::call1("complex", {is_real ? filled : other, is_real ? other : filled});
  CallArgs args;
  args.args = {tensor_value(array_value(changed))};
  call_tensor_method(ev, self, "copy_", args);
  return true;
}

// What the program's tensor itself has by this name, guarded.
static V attribute_of_object(const V& self, const Ref& name) {
  const Ref value = checked(PyObject_GetAttr(self->object.get(), name.get()));
  return lazy_value(
      value.get(),
      make_source(
          {.step = Source::Step::Attribute, .base = self->source, .key = name, .object = {}, .object2 = {}}));
}

V tensor_attribute(Evaluator& ev, const V& self, const std::string& name) {
  const Tensor& tensor = ev.realize(self->items[0])->tensor;
  if (name == "shape") {
    std::vector<V> sizes;
    for (Sym size : ops::sym_shape(tensor)) sizes.push_back(sym_value(size));
    V shape = tuple_value(std::move(sizes));
    if (!self->is_array) shape->object_type = size_class();
    return shape;
  }
  if (name == "ndim") return int_value(tensor.dim());
  if (name == "data" && !self->is_array) return tensor_value(self->items[0]);
  if (name == "grad" && !has_own_attribute(self, "_grad")) return none_value();
  if (name == "dtype") return const_value(Ref::steal(python::to_python(tensor.dtype()).release().ptr()));
  const auto method = [&] {
    V bound = make_value(Kind::Bound);
    bound->items = {self};
    bound->name = name;
    return bound;
  };
  if (name == "size" && self->is_array) return sym_value(product(ops::sym_shape(tensor)));
  if (name == "size") return method();
  if (self->source && Py_TYPE(self->object.get()) != tensor_class(self->is_array)) {
    // What a subclass adds is Python's.
    const Ref key = checked(PyUnicode_InternFromString(name.c_str()));
    PyObject* const found = _PyType_Lookup(Py_TYPE(self->object.get()), key.get());
    if (!found || found != _PyType_Lookup(tensor_class(), key.get())) {
      if (name != "requires_grad" && name != "persistent")
        graph_break(fmt::format("attribute '{}' of a subclass of Tensor", name));
      return attribute_of_object(self, key);
    }
  }
  if (name == "requires_grad" && !self->source)
    return const_value(Ref::borrow(self->requires_grad ? Py_True : Py_False));
  if (name == "requires_grad" && self->object)
    return attribute_of_object(self, checked(PyUnicode_InternFromString(name.c_str())));
  if (V entered = written_in_python(ev, self, name)) return entered;
  const Ref object = traced_object(ev, self);
  const Ref found = Ref::steal(PyObject_GetAttrString(object.get(), name.c_str()));
  PyErr_Clear();
  if (found && python::tensor_of_python(found.get()))
    return result_value(ev, found.get(), {self}, {{object, self}});
  if (found &&
      (PyBool_Check(found.get()) || found.get() == Py_None || name == "device" || name == "itemsize"))
    return const_value(found);
  if (!found || !PyCallable_Check(found.get())) graph_break(fmt::format("attribute '{}' of a tensor", name));
  return method();
}

V read_attribute(Evaluator& ev, V value) {
  if (!value || value->kind != Kind::Bound || value->name != "size" || value->items[0]->kind != Kind::Tensor)
    return value;
  return sym_value(product(ops::sym_shape(ev.realize(value->items[0]->items[0])->tensor)));
}

// An index that Python makes a view for, though some of its integers are 0-d tensors.
static bool is_view_at_tensors(Evaluator& ev, const V& index) {
  bool has_tensors = false;
  const auto selects = [&](const V& item) {
    ev.realize(item);
    if (item->kind == Kind::Tensor) {
      const Tensor& tensor = tensor_of(ev, item);
      has_tensors = true;
      return tensor.dim() == 0 && tensor.dtype() != DType::Bool;
    }
    return item->kind != Kind::List && item->kind != Kind::Array;
  };
  const bool is_view = index->kind == Kind::Tuple
                           ? std::all_of(index->items.begin(), index->items.end(), selects)
                           : selects(index);
  return is_view && has_tensors;
}

// The index with zeros in place of its tensors.
static V at_zeros(const V& index) {
  if (index->kind == Kind::Tensor) return const_value(checked(PyLong_FromLong(0)));
  if (index->kind != Kind::Tuple) return index;
  std::vector<V> items;
  for (const V& item : index->items) items.push_back(at_zeros(item));
  return tuple_value(std::move(items));
}

V ufunc_of_tensors(Evaluator& ev, PyObject* ufunc, const CallArgs& args) {
  const Lowering lowering = find_lowering(ufunc);
  const auto num_operands = static_cast<size_t>(reinterpret_cast<PyUFuncObject*>(ufunc)->nin);
  static constinit InternedName wraps("__array_wrap__");
  const bool is_wrapped = _PyType_Lookup(tensor_class(), wraps) != nullptr;
  if (!lowering || args.args.size() != num_operands || !args.keywords.empty() || !is_wrapped)
    graph_break(fmt::format("a call of {} with a tensor", callable_name(ufunc)));
  CallArgs given = args;
  for (V& operand : given.args) {
    if (ev.realize(operand)->kind != Kind::Tensor) continue;
    if (operand->is_array) graph_break("a ufunc of NumPy's with an array of weft.numpy");
    operand = ev.realize(operand->items[0]);
    if (operand->tensor.dtype() == DType::BF16) graph_break("a ufunc of NumPy's with a bfloat16 tensor");
  }
  const V made = lowering(ev, given);
  if (made->kind != Kind::Array) graph_break("a ufunc of NumPy's that gives a number");
  return tensor_value(made->flavor == Flavor::NdArray ? made : array_value(made->tensor));
}

V operate_on_tensors(Evaluator& ev, const char* function, std::vector<V> operands) {
  const std::string name = function;
  const bool changes = name == "setitem" || (name.starts_with('i') && name != "invert");
  // A number on the left of an in-place operator is changed by none: the operator makes a new tensor.
  const bool in_place = changes && ev.realize(operands[0])->kind == Kind::Tensor;
  const Ref module = checked(PyImport_ImportModule("operator")),
            found = checked(PyObject_GetAttrString(module.get(), function));
  for (V& operand : operands) operand = tensor_on_device(ev, operand);
  const bool are_integers = !in_place && std::all_of(operands.begin(), operands.end(), [&](const V& operand) {
    return operand->kind != Kind::Tensor || is_integral(tensor_of(ev, operand).dtype());
  });
  const Beside beside = are_beside_floats(ev, operands) ? Beside::Floats
                        : are_integers                  ? Beside::Integers
                                                        : Beside::Nothing;
  V result =
      call_traced(ev, found, name, operands, 0, {}, in_place ? Changes::First : Changes::Nothing, beside);
  if (name == "getitem" && result->kind == Kind::Tensor && operands[0]->kind == Kind::Tensor &&
      is_view_at_tensors(ev, operands[1])) {
    // It lies as the view would, and so does what is computed of it.
    const V view =
        call_traced(ev, found, name, {operands[0], at_zeros(operands[1])}, 0, {}, Changes::Nothing);
    Tensor& tensor = result->items[0]->tensor;
    tensor = with_strides_of(tensor, tensor_of(ev, view));
    ev.note_copied_view(result->items[0], operands[0]->items[0]);
  }
  return result;
}

}  // namespace weft::capture
