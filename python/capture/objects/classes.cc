#include "capture/objects/classes.h"

#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

// A class of Python's own above it, as object and dict are.
const PyTypeObject* builtin_base(const PyTypeObject* type) {
  while (type->tp_flags & Py_TPFLAGS_HEAPTYPE) type = type->tp_base;
  return type;
}

// object's own search for attributes, with a __getattr__ written in Python behind it where there is one, or a
// search written in Python over it.
bool has_plain_attributes(PyTypeObject* type) {
  static constinit InternedName search("__getattribute__");
  if (type->tp_getattro == PyObject_GenericGetAttr) return true;
  if (python_function_of(type, "__getattribute__"))
    return !python_function_of(type, "__getattr__") &&
           builtin_base(type)->tp_getattro == PyObject_GenericGetAttr;
  PyTypeObject* const base = is_dict_class(type) ? &PyDict_Type : &PyBaseObject_Type;
  return python_function_of(type, "__getattr__") &&
         _PyType_Lookup(type, search) == _PyType_Lookup(base, search);
}

bool has_plain_assignment(PyTypeObject* type) {
  return type->tp_setattro == PyObject_GenericSetAttr || is_frozen_dataclass(type) ||
         python_function_of(type, "__setattr__");
}

}  // namespace

PyObject* python_function_of(PyTypeObject* type, const char* name) {
  const Ref text = checked(PyUnicode_InternFromString(name));
  PyObject* found = _PyType_Lookup(type, text.get());
  return found && PyFunction_Check(found) ? found : nullptr;
}

bool is_namespace_class(PyTypeObject* type) {
  static constinit MadeOnce<Ref> namespace_class;
  const Ref& found = namespace_class.get([] {
    const Ref types = checked(PyImport_ImportModule("types"));
    return checked(PyObject_GetAttrString(types.get(), "SimpleNamespace"));
  });
  return reinterpret_cast<PyObject*>(type) == found.get();
}

bool is_dict_class(PyTypeObject* type) {
  if (!PyType_FastSubclass(type, Py_TPFLAGS_DICT_SUBCLASS) || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return false;
  static constinit InternedName missing("__missing__");
  const PyTypeObject* const base = builtin_base(type);
  return (base == &PyDict_Type || base == &PyODict_Type) && !_PyType_Lookup(type, missing);
}

bool is_plain_class(PyTypeObject* type) {
  return ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 || is_namespace_class(type)) &&
         has_plain_attributes(type) && has_plain_assignment(type) && !PyType_IsSubtype(type, &PyType_Type) &&
         !PyType_FastSubclass(type, Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS |
                                        Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_BYTES_SUBCLASS |
                                        Py_TPFLAGS_UNICODE_SUBCLASS | Py_TPFLAGS_BASE_EXC_SUBCLASS) &&
         (is_dict_class(type) || !PyType_FastSubclass(type, Py_TPFLAGS_DICT_SUBCLASS)) &&
         !PyType_IsSubtype(type, &PyArray_Type) && !PyType_IsSubtype(type, &PyGenericArrType_Type) &&
         !PyType_IsSubtype(type, &PyFloat_Type);
}

bool is_instantiable(PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && Py_TYPE(type)->tp_call == PyType_Type.tp_call &&
         has_plain_attributes(type) && has_plain_assignment(type) &&
         (type->tp_flags & Py_TPFLAGS_IS_ABSTRACT) == 0;
}

Ref loaded_module(const char* name) {
  const Ref key = checked(PyUnicode_FromString(name));
  Ref module = Ref::steal(PyImport_GetModule(key.get()));
  PyErr_Clear();
  return module ? module : checked(PyImport_ImportModule(name));
}

Ref protocol_function(const char* name) {
  const Ref module = loaded_module("weft._protocols");
  return checked(PyObject_GetAttrString(module.get(), name));
}

Ref entered_function(const char* name) {
  const Ref module = loaded_module("weft._entered_library");
  return checked(PyObject_GetAttrString(module.get(), name));
}

bool is_method_of_modules(PyObject* function) {
  PyObject* const module = PyDict_GetItemString(PyFunction_GetGlobals(function), "__name__");
  return module && PyUnicode_Check(module) &&
         PyUnicode_CompareWithASCIIString(module, "weft.nn.modules.module") == 0;
}

bool is_frozen_dataclass(PyTypeObject* type) {
  static constinit InternedName parameters("__dataclass_params__");
  PyObject* found = type->tp_setattro == PyObject_GenericSetAttr ? nullptr : _PyType_Lookup(type, parameters);
  const Ref frozen = found ? Ref::steal(PyObject_GetAttrString(found, "frozen")) : Ref();
  PyErr_Clear();
  return frozen.get() == Py_True;
}

Ref real_exception(PyObject* type, const Ref& args) {
  static constinit InternedName name("__init__");
  auto* as_type = reinterpret_cast<PyTypeObject*>(type);
  PyObject* init = _PyType_Lookup(as_type, name);
  return checked(init && PyFunction_Check(init) ? as_type->tp_new(as_type, args.get(), nullptr)
                                                : PyObject_CallObject(type, args.get()));
}

namespace {

Ref of_enum_module(const char* name) {
  const Ref module = checked(PyImport_ImportModule("enum"));
  return checked(PyObject_GetAttrString(module.get(), name));
}

}  // namespace

bool is_union(PyObject* object) {
  const std::string_view name = Py_TYPE(object)->tp_name;
  return name == "types.UnionType" || name == "typing.Union";  // until 3.13, and from 3.14 on
}

bool is_annotation(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (Py_IS_TYPE(object, &Py_GenericAliasType) || is_union(object)) return true;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  static constinit InternedName module_name("__module__");
  PyObject* module = _PyType_Lookup(type, module_name);
  return module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "typing") == 0;
}

bool is_enum_class(PyTypeObject* type) {
  static constinit MadeOnce<Ref> meta;
  const Ref& found = meta.get([] { return of_enum_module("EnumMeta"); });
  return PyObject_TypeCheck(reinterpret_cast<PyObject*>(type), reinterpret_cast<PyTypeObject*>(found.get()));
}

bool is_enum_member(PyObject* object) { return is_enum_class(Py_TYPE(object)); }

bool is_enum_function(PyObject* function) {
  static constinit MadeOnce<Ref> globals;
  const Ref& found =
      globals.get([] { return Ref::borrow(PyFunction_GetGlobals(of_enum_module("global_enum").get())); });
  return PyFunction_Check(function) && PyFunction_GetGlobals(function) == found.get();
}

PyObject* fields_of_named_tuple(PyTypeObject* type) {
  static constinit InternedName name("_fields");
  PyObject* fields = _PyType_Lookup(type, name);
  if (!fields || !PyTuple_CheckExact(fields)) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); ++i)
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(fields, i))) return nullptr;
  return fields;
}

// Is what the class was made of a class of named tuples that a program subclasses, without another way to
// make one?
static bool is_made_as_base(PyTypeObject* type) {
  const PyTypeObject* base = type;
  while (base && base->tp_base != &PyTuple_Type) base = base->tp_base;
  if (!base) return false;
  static constinit InternedName made("__new__");
  return _PyType_Lookup(type, made) == _PyType_Lookup(const_cast<PyTypeObject*>(base), made) &&
         (base == type || type->tp_del == nullptr) && base->tp_dictoffset == 0;
}

bool is_named_tuple(PyTypeObject* type) {
  const PyTypeObject& tuple = PyTuple_Type;
  return (type->tp_flags & Py_TPFLAGS_TUPLE_SUBCLASS) != 0 && fields_of_named_tuple(type) &&
         is_made_as_base(type) && Py_TYPE(type) == &PyType_Type &&
         type->tp_setattro == PyObject_GenericSetAttr && type->tp_getattro == PyObject_GenericGetAttr &&
         type->tp_richcompare == tuple.tp_richcompare && type->tp_iter == tuple.tp_iter &&
         type->tp_hash == tuple.tp_hash && type->tp_init == tuple.tp_init && !type->tp_finalize &&
         type->tp_as_sequence->sq_length == tuple.tp_as_sequence->sq_length &&
         type->tp_as_sequence->sq_concat == tuple.tp_as_sequence->sq_concat &&
         type->tp_as_sequence->sq_contains == tuple.tp_as_sequence->sq_contains &&
         type->tp_as_mapping->mp_subscript == tuple.tp_as_mapping->mp_subscript &&
         !type->tp_as_number->nb_bool && !type->tp_as_number->nb_add && !type->tp_as_number->nb_multiply;
}

Ref build_named_tuple(PyObject* type, const Ref& tuple) {
  const Ref arguments = checked(PyTuple_Pack(1, tuple.get()));
  return checked(PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(type), arguments.get(), nullptr));
}

}  // namespace weft::capture
