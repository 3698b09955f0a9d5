// The rest of a call, or of a loop, in CPython: from a state in the middle of a function, at CPython's own
// speed.
#pragma once

#include "capture/perform/state.h"

namespace weft::capture {

// Could CPython go on with every frame of the state? Not inside of handlers, in generators, and before a
// frame's cells are made.
bool can_continue_in_python(const State& state);
// CPython performs what is left of the frames, the innermost first. On Next, an exception has led to a
// handler of one of them. Throws PythonError.
StepResult continue_in_python(State& state, Ref& result);

// The outermost loop of the innermost frame that the frame is in: CPython performs the rest of it, and the
// state goes on behind it. False: it is in none, or at a place CPython cannot begin at or give it back from.
bool can_continue_loop(const State& state);
// On Next, the loop was left, or an exception has led to a handler.
StepResult continue_loop_in_python(State& state, Ref& result);

}  // namespace weft::capture
