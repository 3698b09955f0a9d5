// A call that is performed in frames of capture's, as it is evaluated, where a segment ends within it.
#pragma once

#include "capture/perform/state.h"

namespace weft::capture {

// Is the next instruction a call of a Python function with this code? Then its frame is the innermost one
// now, and nothing else has happened.
bool enter_call(State& state, const Code& code);

}  // namespace weft::capture
