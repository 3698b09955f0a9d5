// numpy.errstate: what is to happen at a division by zero, an overflow, an invalid operation.
#pragma once

namespace weft::capture {

// Whether the state asks for more than a warning ("raise", "call", "print", "log"): then NumPy runs what
// compiled code would.
bool floating_point_errors_are_handled();

// The flags (runtime/float_flags.h) for which the state asks for a warning.
unsigned flags_to_warn_of();

}  // namespace weft::capture
