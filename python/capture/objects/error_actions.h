// What numpy.errstate asks for at a division by zero, an overflow, an underflow, an invalid operation.
#pragma once

namespace weft::capture {

// Flags (runtime/float_flags.h) by what the state asks for where one is raised.
struct ErrorActions {
  unsigned warned = 0;   // a warning
  unsigned handled = 0;  // more than that: "raise", "call", "print", "log"
};
const ErrorActions& current_error_actions();

}  // namespace weft::capture
