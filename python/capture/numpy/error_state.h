// numpy.errstate: what is to happen at a division by zero, an overflow, an underflow, an invalid operation.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// The functions and methods that ask for the state or change it: a segment ends there, Python performs the
// call, and the next segment runs under the state that then is.
void register_error_state();
// Where errors are kept: ends the segment before what computes with known numbers alone, which would be
// computed before the function runs. Gives the result back.
V refuse_known(Evaluator& ev, V result);
// Results that nobody uses are the graph's, too.
void keep_unused(ir::Graph& graph);

}  // namespace weft::capture
