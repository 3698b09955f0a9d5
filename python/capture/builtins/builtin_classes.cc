// Builtin functions that ask for the class of an object, or for its attributes by name.
#include <fmt/format.h>

#include <algorithm>

#include "bindings.h"
#include "capture/builtins/builtins.h"
#include "capture/objects/classes.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

// The function behind a classmethod of the class, or null; borrowed.
PyObject* python_function_of_class(PyObject* type, const char* name) {
  const Ref text = checked(PyUnicode_InternFromString(name));
  PyObject* found = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type), text.get());
  if (!found || Py_TYPE(found) != &PyClassMethod_Type) return nullptr;
  const Ref function = checked(PyObject_GetAttrString(found, "__func__"));
  return PyFunction_Check(function.get()) ? function.get() : nullptr;
}

// A function of the standard library's abstract classes.
bool is_of_library(PyObject* function) {
  PyObject* module = PyDict_GetItemString(PyFunction_GetGlobals(function), "__name__");
  if (!module || !PyUnicode_Check(module)) return false;
  const std::string name = utf8(module);
  return name == "collections.abc" || name == "_collections_abc" || name == "numbers" || name == "typing" ||
         name == "os" || name == "contextlib";
}

V builtin_isinstance(Evaluator& ev, CallArgs& args);

// The classes in the value, which may be a tuple; false where something else is among them.
bool find_classes(Evaluator& ev, const V& value, std::vector<PyObject*>& classes) {
  ev.realize(value);
  if (value->kind == Kind::Tuple || (value->is_const() && PyTuple_CheckExact(value->object.get()))) {
    const std::vector<V> items = ev.elements(value);
    return std::all_of(items.begin(), items.end(),
                       [&](const V& item) { return find_classes(ev, item, classes); });
  }
  if (!value->is_const() || !PyType_Check(value->object.get())) return false;
  classes.push_back(value->object.get());
  return true;
}

// isinstance() where torch.IntTensor or its like is among the classes: tensors of one dtype. Null where none
// is.
V is_of_tensor_type(Evaluator& ev, const V& value, const V& given) {
  std::vector<PyObject*> classes;
  if (!find_classes(ev, given, classes)) return nullptr;
  const auto is_tensor_type = [](PyObject* type) {  // no metaclass is asked
    PyObject* const names = reinterpret_cast<PyTypeObject*>(type)->tp_dict;
    return names && PyDict_GetItemString(names, "_is_tensor_type") != nullptr;
  };
  if (std::none_of(classes.begin(), classes.end(), is_tensor_type)) return nullptr;
  std::vector<V> others;
  for (PyObject* type : classes) {
    if (!is_tensor_type(type)) {
      others.push_back(const_value(Ref::borrow(type)));
      continue;
    }
    if (value->kind != Kind::Tensor) continue;
    const Tensor& tensor = ev.realize(value->items[0])->tensor;
    const Ref dtype = checked(PyObject_GetAttrString(type, "dtype"));
    if (python::dtype_of_python(dtype.get()) == tensor.dtype() && tensor.device() == Device{})
      return bool_value(true);
  }
  CallArgs rest;
  rest.args = {value, tuple_value(std::move(others))};
  return builtin_isinstance(ev, rest);
}

V builtin_isinstance(Evaluator& ev, CallArgs& args) {
  expect(args, 2, 2);
  if (ev.realize(args.args[0])->kind == Kind::Instance) {
    static constexpr const char* kClass = "__class__";
    const Ref text = checked(PyUnicode_InternFromString(kClass));
    PyObject* found = _PyType_Lookup(args.args[0]->object_type, text.get());
    if (found && Py_TYPE(found) != &PyGetSetDescr_Type) graph_break("an object that names its own class");
  }
  PyTypeObject* type = ev.python_type(args.args[0]);
  Ref classes = ev.constant(args.args[1]);
  if (type && !classes)
    if (V answer = is_of_tensor_type(ev, args.args[0], args.args[1])) return answer;
  if (!type || !classes) graph_break("isinstance() of an unknown object");
  std::vector<PyObject*> candidates;
  // int | float: its classes are a tuple.
  if (is_union(classes.get()))
    classes = checked(PyObject_GetAttrString(classes.get(), "__args__"));
  if (PyTuple_Check(classes.get()))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes.get()); ++i)
      candidates.push_back(PyTuple_GET_ITEM(classes.get(), i));
  else
    candidates.push_back(classes.get());
  for (PyObject* candidate : candidates) {
    if (!PyType_Check(candidate)) graph_break("isinstance() with an unknown class");
    if (Py_TYPE(candidate) != &PyType_Type) {
      if (PyObject* hook = python_function_of_class(candidate, "__subclasshook__");
          hook && !is_of_library(hook))
        graph_break("isinstance() with a class that decides itself");
      // Abstract base classes answer for types.
      const int result = PyObject_IsSubclass(reinterpret_cast<PyObject*>(type), candidate);
      if (result < 0) throw PythonError{};
      if (result) return bool_value(true);
    } else if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(candidate))) {
      return bool_value(true);
    }
  }
  return bool_value(false);
}

V builtin_type(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  PyTypeObject* type = ev.python_type(args.args[0]);
  if (!type) graph_break("type() of an unknown object");
  return const_value(Ref::borrow(reinterpret_cast<PyObject*>(type)));
}

V builtin_callable(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  const V& value = ev.realize(args.args[0]);
  if (value->kind == Kind::Function || value->kind == Kind::Method || value->kind == Kind::Bound)
    return bool_value(true);
  PyTypeObject* type = ev.python_type(value);
  if (!type) graph_break("callable() of an unknown object");
  return bool_value(type->tp_call != nullptr);
}

V builtin_getattr(Evaluator& ev, CallArgs& args) {
  expect(args, 2, 3);
  Ref name = ev.constant(args.args[1]);
  if (!name || !PyUnicode_Check(name.get())) graph_break("getattr() with an unknown name");
  PyUnicode_InternInPlace(reinterpret_cast<PyObject**>(&name));
  if (args.args.size() == 3 && ev.realize(args.args[0])->kind == Kind::Instance) {
    V found = ev.attribute_or_null(args.args[0], name.get());
    return found ? found : args.args[2];
  }
  if (args.args.size() == 3 && !ev.has_attribute(args.args[0], name.get())) return args.args[2];
  return ev.attribute(args.args[0], name.get());
}

V builtin_hasattr(Evaluator& ev, CallArgs& args) {
  expect(args, 2, 2);
  Ref name = ev.constant(args.args[1]);
  if (!name || !PyUnicode_Check(name.get())) graph_break("hasattr() with an unknown name");
  return bool_value(ev.has_attribute(args.args[0], name.get()));
}

template <bool kAsObject>
V builtin_setattr(Evaluator& ev, CallArgs& args) {
  expect(args, 3, 3);
  Ref name = ev.constant(args.args[1]);
  if (!name || !PyUnicode_Check(name.get())) graph_break("setattr() with an unknown name");
  PyUnicode_InternInPlace(reinterpret_cast<PyObject**>(&name));
  ev.store_attribute(args.args[0], name.get(), args.args[2], kAsObject);
  return none_value();
}

V builtin_delattr(Evaluator& ev, CallArgs& args) {
  expect(args, 2, 2);
  Ref name = ev.constant(args.args[1]);
  if (!name || !PyUnicode_Check(name.get())) graph_break("delattr() with an unknown name");
  if (PyObject* const method = ev.python_method(args.args[0], "__delattr__")) {
    ev.call_method_now(args.args[0], method, {args.args[1]});
    return none_value();
  }
  ev.delete_attribute(args.args[0], name.get());
  return none_value();
}

// object.__getattribute__, which classes of the program's call from their own.
V builtin_getattribute(Evaluator& ev, CallArgs& args) {
  expect(args, 2, 2);
  Ref name = ev.constant(args.args[1]);
  if (!name || !PyUnicode_Check(name.get())) graph_break("__getattribute__ with an unknown name");
  PyUnicode_InternInPlace(reinterpret_cast<PyObject**>(&name));
  if (ev.realize(args.args[0])->kind != Kind::Instance) return ev.attribute(args.args[0], name.get());
  return ev.plain_attribute(args.args[0], name.get());
}

V builtin_object_new(Evaluator& ev, CallArgs& args) {
  const V type = args.args.empty() ? nullptr : ev.realize(args.args[0]);
  if (type && type->is_const() && PyType_Check(type->object.get()) &&
      reinterpret_cast<PyTypeObject*>(type->object.get())->tp_finalize)
    throw GraphBreak{.reason = "a call of object.__new__ of a class whose objects do something when they end",
                     .is_last = true};
  if (!type || !type->is_const() || !PyType_Check(type->object.get()) ||
      !is_instantiable(reinterpret_cast<PyTypeObject*>(type->object.get())))
    graph_break("a call of object.__new__ of this class");
  if (auto* const made = reinterpret_cast<PyTypeObject*>(type->object.get());
      PyType_FastSubclass(made, Py_TPFLAGS_DICT_SUBCLASS) && !is_dict_class(made))
    graph_break("a call of dict.__new__ of this class");
  V instance = make_value(Kind::Instance);
  instance->object_type = reinterpret_cast<PyTypeObject*>(type->object.get());
  ev.pin_type(instance->object_type);
  return instance;
}

}  // namespace

void register_builtin_classes() {
  const std::pair<const char*, Lowering> functions[] = {{"isinstance", builtin_isinstance},
                                                        {"type", builtin_type},
                                                        {"callable", builtin_callable},
                                                        {"getattr", builtin_getattr},
                                                        {"hasattr", builtin_hasattr},
                                                        {"setattr", builtin_setattr<false>},
                                                        {"object.__setattr__", builtin_setattr<true>},
                                                        {"object.__getattribute__", builtin_getattribute},
                                                        {"delattr", builtin_delattr},
                                                        {"dict.__getattribute__", builtin_getattribute},
                                                        {"dict.__new__", builtin_object_new},
                                                        {"object.__new__", builtin_object_new}};
  for (const auto& [name, lowering] : functions)
    register_lowering((std::string("builtins.") + name).c_str(), lowering);
}

}  // namespace weft::capture
