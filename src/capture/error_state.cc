#include "capture/error_state.h"

#include "capture/py.h"

namespace weft::capture {

namespace {

// NumPy's context variable of the state, and the value it has where nothing was set; null in other versions.
struct StateVariable {
  Ref variable, standard;
  StateVariable() {
    Ref umath = Ref::steal(PyImport_ImportModule("numpy._core.umath"));
    if (umath) variable = Ref::steal(PyObject_GetAttrString(umath.get(), "_extobj_contextvar"));
    PyErr_Clear();
    if (!variable) return;
    Ref context = checked(PyContext_New());  // an empty one: the variable has its default there
    if (PyContext_Enter(context.get()) < 0) throw PythonError{};
    PyObject* value = nullptr;
    if (PyContextVar_Get(variable.get(), nullptr, &value) == 0) standard = Ref::steal(value);
    if (PyContext_Exit(context.get()) < 0) throw PythonError{};
  }
};

bool asks_for_more_than_warnings() {
  Ref numpy = checked(PyImport_ImportModule("numpy")),
      state = checked(PyObject_CallMethod(numpy.get(), "geterr", nullptr));
  PyObject *key, *value;
  for (Py_ssize_t position = 0; PyDict_Next(state.get(), &position, &key, &value);) {
    const std::string action = utf8(value);
    if (action != "ignore" && action != "warn") return true;
  }
  return false;
}

}  // namespace

bool floating_point_errors_are_handled() {
  static const auto& state = *new StateVariable;  // as long as the process
  if (!state.variable || !state.standard) return false;
  PyObject* value = nullptr;
  if (PyContextVar_Get(state.variable.get(), nullptr, &value) < 0) throw PythonError{};
  const Ref current = Ref::steal(value);
  return current.get() != state.standard.get() && asks_for_more_than_warnings();
}

}  // namespace weft::capture
