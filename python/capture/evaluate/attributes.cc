// Attributes of modules, classes, instances and builtin values.
#include <fmt/format.h>

#include "capture/builtins/builtins.h"
#include "capture/builtins/enums.h"
#include "capture/builtins/named_tuples.h"
#include "capture/builtins/sets.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/evaluate/awaiting.h"
#include "capture/evaluate/evaluator.h"
#include "capture/evaluate/mappings.h"
#include "capture/numpy/names.h"
#include "capture/objects/classes.h"
#include "capture/objects/host_tensors.h"
#include "capture/objects/lifetimes.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

V bound(const V& self, const std::string& name) {
  V value = make_value(Kind::Bound);
  value->items = {self};
  value->name = name;
  return value;
}

V method(const V& self, const V& function) {
  V value = make_value(Kind::Method);
  value->items = {self, function};
  return value;
}

Ref docstring_of(PyCodeObject* code) {
  PyObject* constants = code->co_consts;
#ifdef CO_HAS_DOCSTRING
  const bool has_one = (code->co_flags & CO_HAS_DOCSTRING) != 0;
#else
  const bool has_one = PyTuple_GET_SIZE(constants) > 0 && PyUnicode_Check(PyTuple_GET_ITEM(constants, 0));
#endif
  return Ref::borrow(has_one ? PyTuple_GET_ITEM(constants, 0) : Py_None);
}

V partial(const V& function, std::vector<V> args, const V& keywords) {
  V value = make_value(Kind::Partial);
  value->items = {function, tuple_value(std::move(args)), keywords};
  return value;
}

// Of a function that functools.update_wrapper was told what it wraps: `context`.
V attribute_of_wrapper(Evaluator& ev, const V& wrapper, PyObject* name) {
  const std::string text = utf8(name);
  if (text == "__wrapped__") return wrapper->context;
  for (const char* taken : {"__module__", "__name__", "__qualname__", "__doc__"})
    if (text == taken) return ev.attribute(wrapper->context, name);
  graph_break(fmt::format("attribute '{}' of a function that wraps another", text));
}

// functools.partialmethod over a function, seen through an instance.
V partial_method(Evaluator& ev, const V& owner, PyObject* found) {
  const Ref function = checked(PyObject_GetAttrString(found, "func")),
            args = checked(PyObject_GetAttrString(found, "args")),
            keywords = checked(PyObject_GetAttrString(found, "keywords"));
  if (!PyFunction_Check(function.get())) graph_break("a partialmethod of another callable");
  return partial(method(owner, ev.pinned(function.get())), ev.elements(ev.pinned(args.get())),
                 ev.pinned(keywords.get()));
}

std::string_view type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

bool has_python_get(PyObject* found) { return python_function_of(Py_TYPE(found), "__get__") != nullptr; }

// Does reading this entry of a class run a function that may raise AttributeError?
bool is_computed(PyObject* found) {
  return Py_TYPE(found) == &PyProperty_Type || has_python_get(found) || type_name(found) == "cached_property";
}

// Does reading the attribute of an object that is known by identity run no code of the program's?
// A module of weft's own: what it looks up lazily may be looked up at any time.
bool is_module_of_weft(PyObject* object) {
  if (!PyModule_CheckExact(object)) return false;
  PyObject* const name = PyDict_GetItemString(PyModule_GetDict(object), "__name__");
  if (!name || !PyUnicode_Check(name)) return false;
  const std::string text = utf8(name);
  return text == "weft" || text.starts_with("weft.") ||
         PyDict_GetItemString(PyModule_GetDict(object), "_weft_looks_up");
}

// Looks for the attribute as Python does, which puts it into the module's dict.
bool look_up_lazily(PyObject* module, PyObject* name) {
  const Ref found = Ref::steal(PyObject_GetAttr(module, name));
  if (!found) clear_error();
  return static_cast<bool>(found);
}

bool is_read_by_python(PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  const auto is_plain_entry = [](PyObject* found) {
    return (Py_TYPE(found)->tp_flags & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_IMMUTABLETYPE)) !=
               Py_TPFLAGS_HEAPTYPE &&
           Py_TYPE(found) != &PyProperty_Type;
  };
  if (PyType_Check(object)) {
    auto* self = reinterpret_cast<PyTypeObject*>(object);
    if (!has_plain_metaclass(self)) return false;
    PyObject *found = _PyType_Lookup(self, name), *of_metaclass = _PyType_Lookup(type, name);
    return !(found && has_python_get(found)) && !(of_metaclass && has_python_get(of_metaclass));
  }
  if (PyModule_Check(object)) {
    PyObject* dict = PyModule_GetDict(object);
    if (!PyModule_CheckExact(object)) return false;
    return PyDict_GetItemWithError(dict, name) || !PyDict_GetItemString(dict, "__getattr__") ||
           _PyType_Lookup(type, name);
  }
  if ((type->tp_flags & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_IMMUTABLETYPE)) != Py_TPFLAGS_HEAPTYPE) return true;
  if (type->tp_getattro != PyObject_GenericGetAttr) return false;
  PyObject* found = _PyType_Lookup(type, name);
  return !found || is_plain_entry(found);
}

}  // namespace

// An entry of the instance's dict, as far as segments may know it; null when it is not there.
V Evaluator::find_instance_item(const V& owner, PyObject* name) {
  const Ref dict = owner->source ? Ref::steal(PyObject_GenericGetDict(owner->object.get(), nullptr)) : Ref();
  PyErr_Clear();  // a class with slots only has none
  if (dict) use_attributes(owner, dict.get(), false);
  for (size_t i = 0; i < owner->keys.size(); ++i)
    if (PyUnicode_Compare(owner->keys[i]->object.get(), name) == 0) return owner->items[i];
  if (!dict) return nullptr;
  SourceRef dict_source = make_source(
      {.step = Source::Step::InstanceDict, .base = owner->source, .key = {}, .object = {}, .object2 = {}});
  PyObject* found = PyDict_GetItemWithError(dict.get(), name);
  if (!found) {
    variant_->guards.add({.op = GuardOp::DictLacks, .a = variant_->guards.load(dict_source), .object = name},
                         fmt::format("{} has no '{}' of its own", owner->source->str(), utf8(name)));
    return nullptr;
  }
  V item = lazy_value(found, make_source({.step = Source::Step::DictItem,
                                          .base = dict_source,
                                          .key = Ref::borrow(name),
                                          .object = {},
                                          .object2 = {}}));
  owner->keys.push_back(const_value(Ref::borrow(name)));
  owner->items.push_back(item);
  owner->changed.push_back(false);
  return item;
}

// `found` in the class's MRO, seen through an instance.
V Evaluator::class_attribute(const V& owner, PyObject* name, PyObject* found) {
  if (PyUnicode_CompareWithASCIIString(name, "__getattr__") == 0 && PyFunction_Check(found) &&
      is_method_of_modules(found))
    return bound(owner, "__getattr__");  // performed by module_attribute
  if (PyFunction_Check(found)) return method(owner, pinned(found));
  if (Py_TYPE(found) == &PyWrapperDescr_Type && PyDescr_TYPE(found) == &PyBaseObject_Type) {
    // object.__init__ does nothing, as None's does.
    if (PyUnicode_CompareWithASCIIString(name, "__init__") == 0) return bound(none_value(), "__init__");
    if (PyUnicode_CompareWithASCIIString(name, "__setattr__") == 0)
      return partial(pinned(found), {owner}, make_value(Kind::Dict));
  }
  if (searches_plainly(found)) return partial(pinned(found), {owner}, make_value(Kind::Dict));
  if (V value = dict_attribute(*this, owner, found)) return value;
  if (is_cached_function(found)) return method(owner, pinned(found));
  if (type_name(found) == "partialmethod") return partial_method(*this, owner, found);
  if (owner->kind == Kind::Exception && Py_TYPE(found) == &PyWrapperDescr_Type)
    return bound(owner, utf8(name));
  if (Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyClassMethod_Type) {
    Ref function = checked(PyObject_GetAttrString(found, "__func__"));
    if (Py_TYPE(found) == &PyStaticMethod_Type) return pinned(function.get());
    return method(pinned(reinterpret_cast<PyObject*>(owner->object_type)), pinned(function.get()));
  }
  if (Py_TYPE(found)->tp_descr_get == nullptr || is_weft_operator(found)) return pinned(found);
  if (type_name(found) == "cached_property") return cached_property(owner, name, found);
  if (V value = descriptor_value(owner, found)) return value;
  graph_break(fmt::format("attribute '{}' is computed by a descriptor", utf8(name)));
}

// functools.cached_property: computed once, and an attribute from then on.
V Evaluator::cached_property(const V& owner, PyObject* name, PyObject* found) {
  const Ref function = checked(PyObject_GetAttrString(found, "func"));
  if (!PyFunction_Check(function.get())) graph_break("a cached_property without a Python function");
  V value = call_method_now(owner, function.get(), {});
  store_attribute(owner, name, value, true);
  return value;
}

// A property, also a cached one, where the class has a __getattr__, which is asked where it raises
// AttributeError. Null for anything else.
V Evaluator::property_or_hook(const V& owner, PyObject* name, PyObject* found) {
  const bool is_cached = type_name(found) == "cached_property";
  if (is_cached)
    if (V item = find_instance_item(owner, name)) return item;
  if (!is_cached && Py_TYPE(found) != &PyProperty_Type) return nullptr;
  const Ref getter = checked(PyObject_GetAttrString(found, is_cached ? "func" : "fget"));
  if (!PyFunction_Check(getter.get())) return nullptr;
  const Awaiting awaiting(awaited_exceptions_);
  try {
    return is_cached ? cached_property(owner, name, found) : call_method_now(owner, getter.get(), {});
  } catch (const AbstractRaise& raised) {
    if (PyType_IsSubtype(raised.exception->object_type,
                         reinterpret_cast<PyTypeObject*>(PyExc_AttributeError)))
      return ask_for_missing(owner, name);
    throw;
  }
}

// What the class's __getattr__ gives, written in Python or weft.nn.Module's own; null where there is none, or
// where that has no such part.
V Evaluator::ask_for_missing(const V& owner, PyObject* name) {
  PyObject* const hook = python_function_of(owner->object_type, "__getattr__");
  if (!hook) return nullptr;
  if (is_method_of_modules(hook)) return module_attribute(owner, name);
  return call_method_now(owner, hook, {const_value(Ref::borrow(name))});
}

V Evaluator::instance_attribute(const V& owner, PyObject* name) {
  if (PyObject* const search = python_method(owner, "__getattribute__"))
    return call_method_now(owner, search, {const_value(Ref::borrow(name))});
  return plain_attribute(owner, name);
}

V Evaluator::plain_attribute(const V& owner, PyObject* name) {
  PyTypeObject* type = owner->object_type;
  if (!owner->source) pin_type(type);
  if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0 &&
      Py_TYPE(_PyType_Lookup(type, name)) == &PyGetSetDescr_Type)
    return pinned(reinterpret_cast<PyObject*>(type));
  if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) return dict_of_attributes(owner);
  PyObject* found = _PyType_Lookup(type, name);
  if (found && is_computed(found) && python_function_of(type, "__getattr__")) {
    if (V value = property_or_hook(owner, name, found)) return value;
    graph_break(fmt::format("attribute '{}', which is computed or left to __getattr__", utf8(name)));
  }
  if (found && is_data_descriptor(found)) {
    if (Py_TYPE(found) == &PyProperty_Type) {
      Ref getter = checked(PyObject_GetAttrString(found, "fget"));
      if (!PyFunction_Check(getter.get())) graph_break("a property without a Python getter");
      pinned(getter.get());
      CallArgs args;
      args.args = {owner};
      enter(getter.get(), std::move(args));
      return nullptr;
    }
    if (Py_TYPE(found) == &PyMemberDescr_Type && PyUnicode_CompareWithASCIIString(name, "_parameters") == 0)
      if (V parameters = parameters_of_signature(*this, owner)) {
        variant_->guards.is(owner->source, owner->object.get());
        return parameters;
      }
    if (Py_TYPE(found) == &PyMemberDescr_Type) {
      for (size_t i = 0; i < owner->keys.size(); ++i)
        if (PyUnicode_Compare(owner->keys[i]->object.get(), name) == 0) return owner->items[i];
      if (owner->source) {
        Ref value = checked(PyObject_GetAttr(owner->object.get(), name));
        return lazy_value(value.get(), make_source({.step = Source::Step::Attribute,
                                                    .base = owner->source,
                                                    .key = Ref::borrow(name),
                                                    .object = {},
                                                    .object2 = {}}));
      }
    }
    if (V value = descriptor_value(owner, found)) return value;
    graph_break(fmt::format("attribute '{}' is computed by a descriptor", utf8(name)));
  }
  if (V item = find_instance_item(owner, name)) return item;
  if (found) return class_attribute(owner, name, found);
  if (V value = ask_for_missing(owner, name)) return value;
  const std::string message = fmt::format("'{}' object has no attribute '{}'", type->tp_name, utf8(name));
  if (stood_for(owner)) leave_library(message);
  if (!has_handler()) graph_break(message);
  const V error = make_exception(reinterpret_cast<PyTypeObject*>(PyExc_AttributeError), {str_value(message)});
  error->keys = {str_value("name"), str_value("obj")};
  error->attributes = {const_value(Ref::borrow(name)), owner};
  throw AbstractRaise{error};
}

// Enum.__members__: the members of a class stay what they are.
static V members_of_enum(PyObject* type) {
  const Ref members = checked(PyObject_GetAttrString(type, "__members__")), dict = checked(PyDict_New());
  if (PyDict_Update(dict.get(), members.get()) < 0) throw PythonError{};
  V value = make_value(Kind::Dict);
  Py_ssize_t at = 0;
  PyObject *key = nullptr, *member = nullptr;
  while (PyDict_Next(dict.get(), &at, &key, &member)) {
    value->keys.push_back(const_value(Ref::borrow(key)));
    value->items.push_back(const_value(Ref::borrow(member)));
  }
  return value;
}

V Evaluator::const_attribute(const V& owner, PyObject* name) {
  PyObject* object = owner->object.get();
  if (PyType_Check(object) && is_enum_class(reinterpret_cast<PyTypeObject*>(object)) &&
      PyUnicode_CompareWithASCIIString(name, "__members__") == 0)
    return members_of_enum(object);
  if (is_enum_member(object)) return enum_attribute(*this, owner, name);
  if (PyModule_Check(object) && Py_TYPE(object)->tp_getattro == PyModule_Type.tp_getattro &&
      !_PyType_Lookup(Py_TYPE(object), name)) {
    PyObject* dict = PyModule_GetDict(object);
    PyObject* value = PyDict_GetItemWithError(dict, name);
    if (!value && is_module_of_weft(object) && look_up_lazily(object, name))
      value = PyDict_GetItemWithError(dict, name);
    if (value)
      return lazy_value(value, make_source({.step = Source::Step::ModuleAttr,
                                            .base = {},
                                            .key = Ref::borrow(name),
                                            .object = Ref::borrow(dict),
                                            .object2 = {}}));
  }
  if (PyType_Check(object) && has_plain_metaclass(reinterpret_cast<PyTypeObject*>(object))) {
    auto* self = reinterpret_cast<PyTypeObject*>(object);
    PyObject *found = _PyType_Lookup(self, name), *of_metaclass = _PyType_Lookup(Py_TYPE(object), name);
    if (found && has_python_get(found) && !(of_metaclass && is_data_descriptor(of_metaclass))) {
      pin_type(self);
      return call_method_now(pinned(found), python_function_of(Py_TYPE(found), "__get__"),
                             {none_value(), owner});
    }
  }
  if (is_weft_constant(object)) {
    const Ref value = checked(PyObject_GetAttr(object, name));
    const bool is_method = PyCallable_Check(value.get()) && !is_weft_constant(value.get());
    return is_method ? bound(owner, utf8(name)) : const_value(value);
  }
  if (!is_read_by_python(object, name))
    graph_break(fmt::format("attribute '{}' of an object with hooks of its own", utf8(name)));
  Ref value = checked(PyObject_GetAttr(object, name));
  PyTypeObject* type = Py_TYPE(object);
  const bool fixed = (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0;
  if (PyType_Check(object)) {
    auto* self = reinterpret_cast<PyTypeObject*>(object);
    PyObject* found = _PyType_Lookup(self, name);
    if ((self->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0) return const_value(value);
    if (is_enum_member(value.get()) && Py_TYPE(value.get()) == self)
      return const_value(value);  // nobody can assign to it
    // A plain class attribute or function: fixed as long as the class is unchanged.
    if (found && type == &PyType_Type && (PyFunction_Check(found) || !Py_TYPE(found)->tp_descr_get)) {
      pin_type(self);
      return pinned(found);
    }
    if (found && Py_TYPE(found) == &PyStaticMethod_Type) {
      pin_type(self);
      return pinned(value.get());
    }
    if (found && Py_TYPE(found) == &PyClassMethod_Type) {
      pin_type(self);
      return method(owner, pinned(checked(PyObject_GetAttrString(found, "__func__")).get()));
    }
  } else if (fixed && !PyFunction_Check(object) && !PyModule_Check(object)) {
    // Attributes of immutable builtin objects (ufuncs, dtypes, strings, numbers) are fixed; methods are new
    // objects each time.
    if (PyCallable_Check(value.get()) && !PyType_Check(value.get())) return bound(owner, utf8(name));
    return const_value(value);
  }
  SourceRef base = owner->source ? owner->source : pinned_source(object);
  return lazy_value(value.get(), make_source({.step = Source::Step::Attribute,
                                              .base = base,
                                              .key = Ref::borrow(name),
                                              .object = {},
                                              .object2 = {}}));
}

// Null where nothing is known of the attribute.
V Evaluator::exception_attribute(const V& owner, PyObject* name) {
  const std::string text = utf8(name);
  if (text == "args") return tuple_value(owner->items);
  if (text == "value" && owner->object_type == reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))
    return owner->items.empty() ? none_value() : owner->items[0];
  for (size_t i = 0; i < owner->keys.size(); ++i)
    if (PyUnicode_Compare(owner->keys[i]->object.get(), name) == 0) return owner->attributes[i];
  if (owner->source) {
    if (!is_read_by_python(owner->object.get(), name)) return nullptr;
    const Ref value = Ref::steal(PyObject_GetAttr(owner->object.get(), name));
    PyErr_Clear();
    if (!value || PyCallable_Check(value.get())) return nullptr;
    return lazy_value(value.get(), make_source({.step = Source::Step::Attribute,
                                                .base = owner->source,
                                                .key = Ref::borrow(name),
                                                .object = {},
                                                .object2 = {}}));
  }
  if (text == "__traceback__" && owner->place.code) leave_traceback(owner);
  if (text == "__cause__") return owner->cause ? owner->cause : none_value();
  if (text == "__context__")
    return owner->context && owner->context->kind != Kind::Handled ? owner->context : nullptr;
  PyObject* found = _PyType_Lookup(owner->object_type, name);
  if (!found) {
    const std::string message =
        fmt::format("'{}' object has no attribute '{}'", owner->object_type->tp_name, text);
    raise(PyExc_AttributeError, {str_value(message)}, message);
  }
  if (Py_TYPE(found) == &PyProperty_Type) {
    const Ref getter = checked(PyObject_GetAttrString(found, "fget"));
    return PyFunction_Check(getter.get()) ? call_method_now(owner, getter.get(), {}) : nullptr;
  }
  if (is_data_descriptor(found)) return nullptr;
  pin_type(owner->object_type);
  return class_attribute(owner, name, found);
}

V Evaluator::attribute(const V& owner, PyObject* name) {
  if (is_unread_list(owner) && utf8(name) == "append") {
    const V list = unify(owner);
    if (list->kind != Kind::Lazy) return attribute(list, name);
    variant_->guards.type(list->source, &PyList_Type);
    return bound(list, "append");
  }
  realize(owner);
  switch (owner->kind) {
    case Kind::Super: return super_attribute(owner->items[0], owner->object_type, name);
    case Kind::Const: return const_attribute(owner, name);
    case Kind::Instance: return instance_attribute(owner, name);
    case Kind::Array: {
      const std::string text = utf8(name);
      if (V value = numpy_attribute(*this, owner, text)) return value;
      if (find_array_method(text) || find_method_replacement(text)) return bound(owner, text);
      if (text == "resize")  // refused where others refer to the array, as segments do
        throw GraphBreak{.reason = "the array method 'resize', which counts references", .is_last = true};
      graph_break(fmt::format("attribute '{}' of an array", text));
    }
    case Kind::Tensor: return tensor_attribute(*this, owner, utf8(name));
    case Kind::Opaque:
      if (V flag = flags_attribute(*this, owner, utf8(name))) return flag;
      if (PySet_CheckExact(owner->object.get()) && !changes_the_set(utf8(name)))
        if (const V set = outside_set(*this, owner)) return attribute(set, name);
      break;
    case Kind::Tuple:
      if (owner->object_type == size_class() && utf8(name) == "numel") return bound(owner, utf8(name));
      if (owner->object_type && owner->object_type != size_class()) {
        if (V field = named_tuple_field(owner, name)) return field;
        if (is_named_tuple_method(utf8(name))) return bound(owner, utf8(name));
        PyObject* found = _PyType_Lookup(owner->object_type, name);
        if (found && (PyFunction_Check(found) || Py_TYPE(found) == &PyProperty_Type)) {
          pin_type(owner->object_type);
          const Ref getter = PyFunction_Check(found) ? Ref() : checked(PyObject_GetAttrString(found, "fget"));
          return getter ? call_method_now(owner, getter.get(), {}) : method(owner, pinned(found));
        }
        if (found && Py_TYPE(found) == &PyStaticMethod_Type) return class_attribute(owner, name, found);
        if (found && Py_TYPE(found) == &PyClassMethod_Type) return class_attribute(owner, name, found);
        if (found && !Py_TYPE(found)->tp_descr_get && !_PyType_Lookup(&PyTuple_Type, name)) {
          if (owner->source && owner->object && _PyObject_GetDictPtr(owner->object.get())) {
            const Ref value = checked(PyObject_GetAttr(owner->object.get(), name));  // which may be its own
            return lazy_value(value.get(), attribute_source(owner->source, utf8(name).c_str()));
          }
          pin_type(owner->object_type);
          return pinned(found);
        }
        if (!_PyType_Lookup(&PyTuple_Type, name)) break;
      }
      [[fallthrough]];
    case Kind::List:
    case Kind::Dict:
    case Kind::Set:
    case Kind::Scalar:
    case Kind::SymInt: {
      PyTypeObject* type = python_type(owner);
      if (type && _PyType_Lookup(type, name)) return bound(owner, utf8(name));
      break;
    }
    case Kind::Slice: {
      const std::string text = utf8(name);
      if (text == "start") return owner->items[0];
      if (text == "stop") return owner->items[1];
      if (text == "step") return owner->items[2];
      break;
    }
    case Kind::Exception:
      if (V value = exception_attribute(owner, name)) return value;
      break;
    case Kind::Traceback: leave_traceback(owner->items[0]);
    case Kind::Generator:
    case Kind::Iter:
      for (const char* method : {"send", "throw", "close", "__next__", "__iter__"})
        if (utf8(name) == method) return bound(owner, method);
      break;
    case Kind::Function:
      if (owner->context) return attribute_of_wrapper(*this, owner, name);
      if (utf8(name) == "__name__")
        return const_value(Ref::borrow(reinterpret_cast<PyCodeObject*>(owner->object.get())->co_name));
      if (utf8(name) == "__doc__")
        return const_value(docstring_of(reinterpret_cast<PyCodeObject*>(owner->object.get())));
      break;
    case Kind::Method:
      if (utf8(name) == "__self__") return owner->items[0];
      if (utf8(name) == "__func__") return owner->items[1];
      break;
    default: break;
  }
  graph_break(fmt::format("attribute '{}' of an object that weft does not know", utf8(name)));
}

// Whether an object that the state holds has an attribute of its own, in a slot or its dict, which later
// calls may find otherwise.
bool Evaluator::has_own_attribute_now(const V& owner, PyObject* name) {
  Guards& guards = variant_->guards;
  if (const Ref found = Ref::steal(PyObject_GenericGetAttr(owner->object.get(), name))) {
    guards.load(attribute_source(owner->source, utf8(name).c_str()));
    return true;
  }
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError{};
  PyErr_Clear();
  guards.add({.op = GuardOp::AttributeLacks, .a = guards.load(owner->source), .object = name},
             fmt::format("{} has no attribute '{}'", owner->source->str(), utf8(name)));
  return false;
}

bool Evaluator::has_attribute(const V& owner, PyObject* name) {
  realize(owner);
  if (owner->kind == Kind::Tensor && owner->source && !_PyType_Lookup(Py_TYPE(owner->object.get()), name))
    return has_own_attribute_now(owner, name);
  if (owner->kind == Kind::Instance) {
    if (!owner->source) pin_type(owner->object_type);
    if (python_function_of(owner->object_type, "__getattribute__"))
      return static_cast<bool>(attribute_or_null(owner, name));
    PyObject* const found = _PyType_Lookup(owner->object_type, name);
    if (found && Py_TYPE(found) == &PyMemberDescr_Type) {
      for (const V& key : owner->keys)
        if (PyUnicode_Compare(key->object.get(), name) == 0) return true;
      return owner->source && has_own_attribute_now(owner, name);
    }
    if (found) return !is_computed(found) || attribute_or_null(owner, name);
    if (find_instance_item(owner, name)) return true;
    return python_function_of(owner->object_type, "__getattr__") && attribute_or_null(owner, name);
  }
  if (owner->kind == Kind::Function && owner->context && utf8(name) != "__wrapped__" &&
      !_PyType_Lookup(&PyFunction_Type, name))
    graph_break("hasattr of a function that wraps another");
  if (owner->kind == Kind::Function && owner->context) return true;
  if (PyTypeObject* type = python_type(owner);
      type && owner->kind != Kind::Const && owner->kind != Kind::Opaque)
    return _PyType_Lookup(type, name) != nullptr;
  if (owner->is_const()) {
    PyObject* object = owner->object.get();
    if (is_module_of_weft(object)) return look_up_lazily(object, name);
    if (!is_read_by_python(object, name)) graph_break("hasattr of an object with hooks of its own");
    if (PyObject_HasAttr(object, name)) return true;
    if (PyType_Check(object) && Py_TYPE(object) == &PyType_Type) {
      pin_type(reinterpret_cast<PyTypeObject*>(object));
      return false;
    }
    if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0 && !PyModule_Check(object) &&
        !PyType_Check(object) && !PyFunction_Check(object))
      return false;
  }
  graph_break("hasattr of an object that weft does not know");
}

}  // namespace weft::capture
