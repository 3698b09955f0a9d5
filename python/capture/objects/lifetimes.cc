#include "capture/objects/lifetimes.h"

#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

constexpr int kMostObjects = 1000;  // that are looked at before the answer is no

bool has_weak_references(PyObject* object) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return false;
  return *PyObject_GET_WEAKREFS_LISTPTR(object) != nullptr;
}

bool is_number_or_text(PyObject* object) {
  return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
         PyComplex_CheckExact(object);
}

bool ends_quietly(PyObject* object, int& looked_at);

int visit_held(PyObject* held, void* looked_at) {
  if (!held || Py_REFCNT(held) > 1) return 0;
  return ends_quietly(held, *static_cast<int*>(looked_at)) ? 0 : 1;
}

bool ends_quietly(PyObject* object, int& looked_at) {
  if (is_number_or_text(object) || PyType_Check(object)) return true;
  if (++looked_at > kMostObjects || has_weak_references(object)) return false;
  PyTypeObject* const type = Py_TYPE(object);
  if (PyArray_CheckExact(object)) {
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    if (PyDataType_REFCHK(PyArray_DESCR(array))) return false;
    return visit_held(PyArray_BASE(array), &looked_at) == 0;
  }
  if (type->tp_finalize || type->tp_del) return false;
  return !PyObject_IS_GC(object) || !type->tp_traverse ||
         type->tp_traverse(object, visit_held, &looked_at) == 0;
}

}  // namespace

bool ends_quietly(PyObject* object) {
  int looked_at = 0;
  return ends_quietly(object, looked_at);
}

}  // namespace weft::capture
