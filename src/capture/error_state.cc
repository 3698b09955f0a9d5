#include "capture/error_state.h"

#include <string_view>

#include "capture/py.h"
#include "runtime/float_flags.h"

namespace weft::capture {

namespace {

// What the state asks for; of underflow, only whether it is handled.
struct Actions {
  bool more_than_warnings = false;
  unsigned warned = runtime::kFloatFlags;
};

Actions read_actions() {
  Ref numpy = checked(PyImport_ImportModule("numpy")),
      state = checked(PyObject_CallMethod(numpy.get(), "geterr", nullptr));
  Actions actions;
  PyObject *key, *value;
  for (Py_ssize_t position = 0; PyDict_Next(state.get(), &position, &key, &value);) {
    const std::string action = utf8(value), kind = utf8(key);
    const unsigned flag = kind == "divide"    ? runtime::kDivideByZero
                          : kind == "over"    ? runtime::kOverflow
                          : kind == "invalid" ? runtime::kInvalid
                                              : 0;
    if (action != "ignore" && action != "warn") actions.more_than_warnings = true;
    if (action != "warn") actions.warned &= ~flag;
  }
  return actions;
}

// NumPy's context variable of the state, null in other versions, and what the last value that was met asks for.
struct StateVariable {
  Ref variable, last;
  Actions actions;
  StateVariable() {
    Ref umath = Ref::steal(PyImport_ImportModule("numpy._core.umath"));
    if (umath) variable = Ref::steal(PyObject_GetAttrString(umath.get(), "_extobj_contextvar"));
    PyErr_Clear();
  }
};

const Actions& current_actions() {
  static auto& state = *new StateVariable;  // as long as the process
  if (!state.variable) return state.actions;
  PyObject* value = nullptr;
  if (PyContextVar_Get(state.variable.get(), nullptr, &value) < 0) throw PythonError{};
  Ref current = Ref::steal(value);
  if (!(current == state.last) || !state.last) {
    state.actions = read_actions();
    state.last = std::move(current);
  }
  return state.actions;
}

}  // namespace

bool floating_point_errors_are_handled() { return current_actions().more_than_warnings; }

unsigned flags_to_warn_of() { return current_actions().warned; }

}  // namespace weft::capture
