// Arrays that are not NumPy's own: instances of subclasses of ndarray and of its scalars, and of classes that
// take part in the protocols of NumPy's functions. What a function makes of them is for them to say, so that
// lowerings and the sources that stand in for functions take none: NumPy performs the call.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// Ends the segment before a call of a function of NumPy's, or a method, with one among the arguments or in
// the lists, tuples and dicts that they are; or with lists that are deeper than arrays (that hold
// themselves).
void refuse_foreign_arrays(Evaluator& ev, const std::string& callable, const CallArgs& args);

}  // namespace weft::capture
