#include "capture/objects/error_actions.h"

#include <string>

#include "capture/objects/made_once.h"
#include "runtime/float_flags.h"

namespace weft::capture {

namespace {

ErrorActions read_actions() {
  Ref numpy = checked(PyImport_ImportModule("numpy")),
      state = checked(PyObject_CallMethod(numpy.get(), "geterr", nullptr));
  ErrorActions actions;
  PyObject *key, *value;
  for (Py_ssize_t position = 0; PyDict_Next(state.get(), &position, &key, &value);) {
    const std::string action = utf8(value), kind = utf8(key);
    const unsigned flag = kind == "divide"    ? runtime::kDivideByZero
                          : kind == "over"    ? runtime::kOverflow
                          : kind == "invalid" ? runtime::kInvalid
                                              : runtime::kUnderflow;
    if (action == "warn")
      actions.warned |= flag;
    else if (action != "ignore")
      actions.handled |= flag;
  }
  return actions;
}

// NumPy's context variable of the state, null in other versions, and what the last value that was met asks
// for.
struct StateVariable {
  Ref variable, last;
  ErrorActions actions{.warned = runtime::kInvalid | runtime::kDivideByZero | runtime::kOverflow};
  StateVariable() {
    Ref umath = Ref::steal(PyImport_ImportModule("numpy._core.umath"));
    if (umath) variable = Ref::steal(PyObject_GetAttrString(umath.get(), "_extobj_contextvar"));
    clear_error();
  }
};

}  // namespace

const ErrorActions& current_error_actions() {
  static constinit MadeOnce<StateVariable> made;
  StateVariable& state = made.get([] { return StateVariable(); });
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

}  // namespace weft::capture
