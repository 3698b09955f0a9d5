// numpy.errstate: what is to happen at a division by zero, an overflow, an invalid operation.
#pragma once

namespace weft::capture {

// Whether the state asks for more than a warning ("raise", "call", "print", "log"): then NumPy runs what
// compiled code, which does not look at floating-point flags, would.
bool floating_point_errors_are_handled();

}  // namespace weft::capture
