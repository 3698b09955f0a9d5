// numpy.errstate: what is to happen at a division by zero, an overflow, an underflow, an invalid operation.
#pragma once

namespace weft::capture {

// Flags (runtime/float_flags.h) by what the state asks for where one is raised.
struct ErrorActions {
  unsigned warned = 0;   // a warning
  unsigned handled = 0;  // more than that: "raise", "call", "print", "log"
};
const ErrorActions& current_error_actions();

// The functions and methods that ask for the state or change it: a segment ends there, Python performs the
// call, and the next segment runs under the state that then is.
void register_error_state();

}  // namespace weft::capture
