#include "capture/guards/computed.h"

#include <array>

#include "capture/perform/concrete.h"

namespace weft::capture {

namespace {

Ref result_of(int operation, PyObject* function, PyObject* a, PyObject* b) {
  if (function) {
    const std::array<PyObject*, 2> args{a, b};
    return Ref::steal(PyObject_Vectorcall(function, args.data(), b ? 2 : 1, nullptr));
  }
  if (operation >= kFirstComparison)
    return Ref::steal(PyObject_RichCompare(a, b, operation - kFirstComparison));
  return binary_operation(operation, a, b);
}

}  // namespace

Ref computed_number(int operation, PyObject* function, PyObject* a, PyObject* b) {
  Ref result;
  try {
    result = result_of(operation, function, a, b);
  } catch (const PythonError&) {
  }
  PyErr_Clear();
  PyObject* const number = result.get();
  if (number && !PyLong_CheckExact(number) && !PyFloat_CheckExact(number) && !PyBool_Check(number))
    return Ref();
  return result;
}

}  // namespace weft::capture
