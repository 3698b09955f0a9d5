#include "capture/evaluate/promises.h"

namespace weft::capture {

namespace {

// Live as long as the process; null before anything is told.
PyObject* marked_sizes = nullptr;
PyObject* frozen_tensors = nullptr;

PyObject* entry_of(PyObject* table, PyObject* tensor) {
  if (!table || PyDict_GET_SIZE(table) == 0) return nullptr;
  const Ref key = checked(PyLong_FromVoidPtr(tensor));
  return PyDict_GetItemWithError(table, key.get());
}

}  // namespace

void set_marked_sizes(PyObject* marks) { Py_XSETREF(marked_sizes, Py_NewRef(marks)); }

Settings::Dynamic marked_size(PyObject* object, int dim, Settings::Dynamic otherwise) {
  PyObject* const marks = entry_of(marked_sizes, object);
  if (!marks) return otherwise;
  const Ref at = checked(PyLong_FromLong(dim));
  PyObject* const is_dynamic = PyDict_GetItemWithError(marks, at.get());
  if (!is_dynamic) return otherwise;
  return is_dynamic == Py_True ? Settings::Dynamic::Always : Settings::Dynamic::Never;
}

void set_frozen_tensors(PyObject* frozen) { Py_XSETREF(frozen_tensors, Py_NewRef(frozen)); }

bool is_frozen(PyObject* tensor) { return entry_of(frozen_tensors, tensor) != nullptr; }

void thaw(PyObject* tensor) {
  const Ref key = checked(PyLong_FromVoidPtr(tensor));
  if (PyDict_DelItem(frozen_tensors, key.get()) < 0) PyErr_Clear();
}

}  // namespace weft::capture
