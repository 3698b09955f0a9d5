#include "capture/perform/state.h"

#include <algorithm>
#include <chrono>

#include "capture/objects/made_once.h"
#include "capture/perform/program_frame.h"
#include "interpreter_lock.h"

namespace weft::capture {

Ref builtins_of(PyObject* globals) {
  PyObject* builtins = PyDict_GetItemString(globals, "__builtins__");
  if (builtins && PyModule_Check(builtins)) builtins = PyModule_GetDict(builtins);
  if (!builtins) builtins = PyEval_GetBuiltins();
  return Ref::borrow(builtins);
}

namespace {

// Calls the function itself for its TypeError: a call that cannot be bound has no other effect.
[[noreturn]] void raise_binding_error(PyObject* function, PyObject* const* args, size_t num_args,
                                      PyObject* kwnames) {
  const size_t total = num_args + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(num_args)));
  for (size_t i = 0; i < num_args; ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  Ref keywords;
  if (kwnames) {
    keywords = checked(PyDict_New());
    for (size_t i = num_args; i < total; ++i)
      if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i - num_args)),
                         args[i]) < 0)
        throw PythonError{};
  }
  Ref result = Ref::steal(PyObject_Call(function, positional.get(), keywords.get()));
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "the call's arguments cannot be bound");
  throw PythonError{};
}

int find_name(const Code& code, int from, int to, PyObject* name) {
  for (int i = from; i < to; ++i)
    if (code.local_names[static_cast<size_t>(i)].get() == name) return i;
  for (int i = from; i < to; ++i)
    if (PyUnicode_Compare(code.local_names[static_cast<size_t>(i)].get(), name) == 0) return i;
  return -1;
}

}  // namespace

Frame make_frame(PyObject* callable, PyObject* const* args, size_t num_args, PyObject* kwnames) {
  auto* function = reinterpret_cast<PyFunctionObject*>(callable);
  const Code& code = decode(reinterpret_cast<PyCodeObject*>(function->func_code));
  Frame frame;
  frame.code = &code;
  frame.globals = Ref::borrow(function->func_globals);
  frame.builtins = Ref::borrow(function->func_builtins);
  frame.locals.resize(static_cast<size_t>(code.num_locals));
  const int num_named = code.positional + code.keyword_only;
  const auto given = static_cast<int>(num_args);
  for (int i = 0; i < std::min(given, code.positional); ++i)
    frame.locals[static_cast<size_t>(i)] = Ref::borrow(args[i]);
  if (code.var_args) {
    Ref rest = checked(PyTuple_New(std::max(0, given - code.positional)));
    for (int i = code.positional; i < given; ++i)
      PyTuple_SET_ITEM(rest.get(), i - code.positional, Py_NewRef(args[i]));
    frame.locals[static_cast<size_t>(num_named)] = rest;
  } else if (given > code.positional) {
    raise_binding_error(callable, args, num_args, kwnames);
  }
  Ref keywords;
  if (code.var_keywords) {
    keywords = checked(PyDict_New());
    frame.locals[static_cast<size_t>(num_named + (code.var_args ? 1 : 0))] = keywords;
  }
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    PyObject* value = args[num_args + static_cast<size_t>(i)];
    const int slot = find_name(code, code.positional_only, num_named, name);
    if (slot >= 0) {
      if (frame.locals[static_cast<size_t>(slot)]) raise_binding_error(callable, args, num_args, kwnames);
      frame.locals[static_cast<size_t>(slot)] = Ref::borrow(value);
    } else if (keywords) {
      if (PyDict_SetItem(keywords.get(), name, value) < 0) throw PythonError{};
    } else {
      raise_binding_error(callable, args, num_args, kwnames);
    }
  }
  const auto num_defaults =
      function->func_defaults ? static_cast<int>(PyTuple_GET_SIZE(function->func_defaults)) : 0;
  for (int i = std::min(given, code.positional); i < num_named; ++i) {
    Ref& local = frame.locals[static_cast<size_t>(i)];
    if (local) continue;
    PyObject* value = nullptr;
    if (i < code.positional) {
      const int k = i - (code.positional - num_defaults);
      if (k >= 0) value = PyTuple_GET_ITEM(function->func_defaults, k);
    } else if (function->func_kwdefaults) {
      value =
          PyDict_GetItemWithError(function->func_kwdefaults, code.local_names[static_cast<size_t>(i)].get());
    }
    if (!value) raise_binding_error(callable, args, num_args, kwnames);
    local = Ref::borrow(value);
  }
  for (int i = 0; i < code.num_free; ++i)
    frame.locals[static_cast<size_t>(code.num_locals - code.num_free + i)] =
        Ref::borrow(PyTuple_GET_ITEM(function->func_closure, i));
  return frame;
}

namespace {

// `raise` alone and the end of a handler: the exception has been here before.
bool raises_again(const Instruction& in) {
  if (in.op != Op::Raise || in.arg != 0) return in.op == Op::Reraise;
  const Ref handled = Ref::steal(PyErr_GetHandledException());
  return handled && handled.get() != Py_None;
}

}  // namespace

void unwind(State& state) {
  state.was_warning_raised = state.was_warning_raised || PyErr_ExceptionMatches(PyExc_Warning);
  bool innermost = true;
  while (!state.frames.empty()) {
    Frame& frame = state.frames.back();
    // An outer frame's ip is already behind its call.
    const int instruction = innermost ? frame.ip : frame.ip - 1;
    innermost = false;
    const Instruction& in = frame.code->instructions[static_cast<size_t>(instruction)];
    if (!raises_again(in)) add_traceback(state, state.frames.size() - 1, instruction);
    if (const Handler* handler = frame.code->find_handler(in.offset)) {
      frame.stack.resize(static_cast<size_t>(handler->depth));
      if (handler->push_lasti) frame.stack.push_back(checked(PyLong_FromLong(in.offset)));
      frame.stack.push_back(take_exception());
      frame.ip = handler->target;
      return;
    }
    end_frame(state, state.frames.size() - 1, instruction);
    state.frames.pop_back();
  }
  throw PythonError{};
}

namespace {

// An empty function: where it begins, CPython hands the lock to a thread that has waited for it for long,
// which no function of its interface does. (Who releases it and takes it back at once starves a thread that
// waits: its patience begins anew.)
bool begin_function() {
  static constinit MadeOnce<Ref> function;
  const Ref& empty = function.get([] {
    const Ref globals = checked(PyDict_New());
    if (PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) < 0) throw PythonError{};
    return checked(python::calling_python(
        [&] { return PyRun_String("lambda: None", Py_eval_input, globals.get(), globals.get()); }));
  });
  return static_cast<bool>(
      Ref::steal(python::calling_python([&] { return PyObject_CallNoArgs(empty.get()); })));
}

}  // namespace

bool serve_interpreter() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kTurn = std::chrono::milliseconds(1);
  thread_local Clock::time_point last;
  if (PyErr_CheckSignals() != 0 || (is_interrupt_pending() && Py_MakePendingCalls() != 0)) return false;
  if (!PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get()))) return true;
  const auto now = Clock::now();
  if (now - last < kTurn) return true;
  const bool is_well = begin_function();
  last = Clock::now();
  return is_well;
}

Ref run_concretely(State& state) {
  Ref result;
  while (step(state, result) != StepResult::Returned) {
    if (!serve_interpreter()) unwind(state);
  }
  return result;
}

}  // namespace weft::capture
