#include "capture/values/classes.h"

#include "capture/evaluate/evaluator.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

// object's own search for attributes, with a __getattr__ written in Python behind it where there is one.
bool has_plain_attributes(PyTypeObject* type) {
  static constinit InternedName search("__getattribute__");
  if (type->tp_getattro == PyObject_GenericGetAttr) return true;
  return python_function_of(type, "__getattr__") &&
         _PyType_Lookup(type, search) == _PyType_Lookup(&PyBaseObject_Type, search);
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

bool is_plain_class(PyTypeObject* type) {
  return ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 || is_namespace_class(type)) &&
         has_plain_attributes(type) && has_plain_assignment(type) && !PyType_IsSubtype(type, &PyType_Type) &&
         !PyType_FastSubclass(type, Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS |
                                        Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_BYTES_SUBCLASS |
                                        Py_TPFLAGS_UNICODE_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS |
                                        Py_TPFLAGS_BASE_EXC_SUBCLASS) &&
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

}  // namespace weft::capture
