#include "capture/objects/lifetimes.h"

#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

// How many are looked at, and how deep, before the answer is no: a module has many parts.
constexpr int kMostObjects = 200'000, kDeepest = 500;

struct Walk {
  int looked_at = 0, depth = 0;
};

bool has_weak_references(PyObject* object) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return false;
  return *PyObject_GET_WEAKREFS_LISTPTR(object) != nullptr;
}

bool is_number_or_text(PyObject* object) {
  return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
         PyComplex_CheckExact(object);
}

bool ends_quietly(PyObject* object, Walk& walk);

int visit_held(PyObject* held, void* walk) {
  if (!held || Py_REFCNT(held) > 1) return 0;
  return ends_quietly(held, *static_cast<Walk*>(walk)) ? 0 : 1;
}

bool ends_quietly(PyObject* object, Walk& walk) {
  if (is_number_or_text(object) || PyType_Check(object)) return true;
  if (++walk.looked_at > kMostObjects || walk.depth > kDeepest || has_weak_references(object)) return false;
  PyTypeObject* const type = Py_TYPE(object);
  if (PyArray_CheckExact(object)) {
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    if (PyDataType_REFCHK(PyArray_DESCR(array))) return false;
    return visit_held(PyArray_BASE(array), &walk) == 0;
  }
  if (type->tp_finalize || type->tp_del) return false;
  if (!PyObject_IS_GC(object) || !type->tp_traverse) return true;
  ++walk.depth;
  const bool is_quiet = type->tp_traverse(object, visit_held, &walk) == 0;
  --walk.depth;
  return is_quiet;
}

}  // namespace

bool ends_quietly(PyObject* object) {
  Walk walk;
  return ends_quietly(object, walk);
}

}  // namespace weft::capture
