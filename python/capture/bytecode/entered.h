// Functions that became a part of other functions' compiled code, for `weft compile --report`.
#pragma once

#include "capture/bytecode/bytecode.h"

namespace weft::capture {

// Are calls measured? The switch is off unless asked for.
extern bool measuring;

// A function's code became a part of another one's compiled code.
void note_entered(const Code& caller, const Code& callee);
// {callee's code object: callers' names}
Ref entered_functions();

}  // namespace weft::capture
