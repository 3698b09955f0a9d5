// What functions of weft's own say to the evaluator.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// What a function of weft's own answers to captured programs: a value in its dict, or its argument, pinned
// where that is the function itself; null for all others.
V answer_when_captured(Evaluator& ev, PyObject* function, const CallArgs& args);

}  // namespace weft::capture
