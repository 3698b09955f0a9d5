// Giving up Python's interpreter lock, and taking it: the only places of this module that do. When a program
// ends, CPython before 3.14 ends every other thread that comes for the lock by unwinding its stack, which
// would run destructors without the lock and ends the process with an abort where something cannot be
// unwound. Here such a thread sleeps until the process is gone, as CPython's own do from 3.14 on, within
// CPython: the pool of inter-op threads is told before a thread comes for the lock (InterpreterScope).
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "runtime/interop.h"
#include "runtime/interruption.h"
#include "weft/error.h"

namespace weft::python {

inline void restore_thread(PyThreadState* thread) {
  try {
    PyEval_RestoreThread(thread);
  } catch (abi::__forced_unwind&) {
    runtime::sleep_until_exit();
  }
}

// Without the lock as long as it lives, or until take_back().
class GilRelease {
 public:
  GilRelease() : thread_(PyEval_SaveThread()), outside_(std::in_place, false) {}
  ~GilRelease() { take_back(); }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  void take_back() {
    outside_.reset();
    if (PyThreadState* thread = std::exchange(thread_, nullptr)) restore_thread(thread);
  }

 private:
  PyThreadState* thread_;
  std::optional<runtime::InterpreterScope> outside_;
};

// Python's signal handlers run, in its main thread. True: one raised, and its exception is set.
inline bool does_signal_raise() {
  PyThreadState* const thread = PyGILState_GetThisThreadState();
  if (!thread) return false;
  restore_thread(thread);
  const bool raises = PyErr_CheckSignals() != 0;
  PyEval_SaveThread();
  return raises;
}

// Without the lock, for what may take long: a signal whose handler raises ends it by runtime::Interrupted,
// with the exception set.
class ComputeRelease {
 public:
  ComputeRelease() {
    thread_local const bool is_main = ::gettid() == ::getpid();  // the only one that signals are handled in
    if (is_main) interruptible_.emplace(does_signal_raise);
  }
  void take_back() {
    interruptible_.reset();
    released_.take_back();
  }

 private:
  GilRelease released_;
  std::optional<runtime::Interruptible> interruptible_;
};

// With the lock as long as it lives, in any thread, whether it has the lock already or not. RuntimeError
// where the interpreter has ended. Who has it serves signals as Python does.
class GilAcquire {
 public:
  GilAcquire() {
    if (!Py_IsInitialized()) throw Error(ErrorKind::Runtime, "Python's interpreter has ended");
    try {
      state_ = PyGILState_Ensure();
    } catch (abi::__forced_unwind&) {
      runtime::sleep_until_exit();
    }
  }
  ~GilAcquire() { PyGILState_Release(state_); }
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;

 private:
  const runtime::Interruptible by_nobody_{nullptr};
  const runtime::InterpreterScope inside_{true};
  PyGILState_STATE state_;
};

// What a call of the C API gives that runs Python code for as long as that likes: the program may end
// meanwhile.
template <class Call>
PyObject* calling_python(Call&& call) {
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    runtime::sleep_until_exit();
  }
}

// Releases what wraps Python memory from any thread; does nothing once the interpreter has ended.
template <class F>
void with_gil(F&& f) {
  if (!Py_IsInitialized()) return;
  const GilAcquire gil;
  f();
}

}  // namespace weft::python
