// A concrete state: a stack of frames with real Python objects, from which evaluation can go on, either
// instruction by instruction for real (step) or symbolically (Evaluator).
#pragma once

#include <vector>

#include "capture/bytecode/bytecode.h"
#include "capture/objects/py.h"

namespace weft::capture {

// What happens to the value a frame returns.
enum class OnReturn : uint8_t {
  Push,      // pushed on the caller's stack
  Instance,  // __init__ returned: the frame's `extra`, the new instance, is pushed instead
  Discard,   // nothing is pushed
  Answer,    // an operator's method returned: for NotImplemented, `extra` has the arguments of ask_others()
};

// Let go of as CPython does: from 3.14 on the last one first.
class Locals : public std::vector<Ref> {
 public:
  using vector::vector;
  Locals(const Locals&) = default;
  Locals(Locals&&) = default;
  Locals& operator=(const Locals&) = default;
  Locals& operator=(Locals&&) = default;
  ~Locals() {
    while (PY_VERSION_HEX >= 0x030E0000 && !empty()) pop_back();
  }
};

struct Frame {
  const Code* code = nullptr;
  Ref globals, builtins;
  Locals locals;            // locals, cells and free variables; null when unbound
  std::vector<Ref> stack;   // null where CPython has NULL
  int ip = 0;
  OnReturn on_return = OnReturn::Push;
  Ref extra;
  Ref python_frame;  // CPython's frame object, once there is one (program_frame.h)
};

struct State {
  std::vector<Frame> frames;
  bool was_warning_raised = false;  // as an exception
};

// The frame of a call, arguments bound as CPython binds them. `kwnames` is null or a tuple of the names of
// the last arguments. Throws PythonError (TypeError for a wrong call).
Frame make_frame(PyObject* function, PyObject* const* args, size_t num_args, PyObject* kwnames);
// The builtins a function's globals name.
Ref builtins_of(PyObject* globals);

enum class StepResult { Next, Returned };
// Performs the current instruction for real and moves on. Exceptions unwind to the handlers of the state's
// frames; one that no frame handles is thrown as PythonError. On Returned, `result` is the outermost frame's.
StepResult step(State& state, Ref& result);
// The innermost frame returns the value at its current instruction.
StepResult leave_frame(State& state, Ref value, Ref& result);
// step until the outermost frame returns.
Ref run_concretely(State& state);
// Between instructions: handlers of signals run, and every few milliseconds Python's other threads. False
// where an exception is set.
bool serve_interpreter();
// Goes on as if the current instruction had raised the exception that is set.
void unwind(State& state);

}  // namespace weft::capture
