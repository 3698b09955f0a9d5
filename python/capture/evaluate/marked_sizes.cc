#include "capture/evaluate/marked_sizes.h"

namespace weft::capture {

namespace {

// Lives as long as the process; null before anything is marked.
PyObject* marked = nullptr;

}  // namespace

void set_marked_sizes(PyObject* marks) { Py_XSETREF(marked, Py_NewRef(marks)); }

Settings::Dynamic marked_size(PyObject* object, int dim, Settings::Dynamic otherwise) {
  if (!marked || PyDict_GET_SIZE(marked) == 0) return otherwise;
  const Ref key = checked(PyLong_FromVoidPtr(object)), at = checked(PyLong_FromLong(dim));
  PyObject* const marks = PyDict_GetItemWithError(marked, key.get());
  PyObject* const is_dynamic = marks ? PyDict_GetItemWithError(marks, at.get()) : nullptr;
  if (!is_dynamic) return otherwise;
  return is_dynamic == Py_True ? Settings::Dynamic::Always : Settings::Dynamic::Never;
}

}  // namespace weft::capture
