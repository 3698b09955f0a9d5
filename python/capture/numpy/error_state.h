// numpy.errstate: what is to happen at a division by zero, an overflow, an underflow, an invalid operation.
#pragma once

namespace weft::capture {

// The functions and methods that ask for the state or change it: a segment ends there, Python performs the
// call, and the next segment runs under the state that then is.
void register_error_state();

}  // namespace weft::capture
