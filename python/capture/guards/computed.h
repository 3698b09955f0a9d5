// Numbers that follow from sizes and from numbers that the program was given: computed by Python's own
// operations, at each call anew.
#pragma once

#include "capture/objects/py.h"

namespace weft::capture {

// NB_* below this are operators, Py_LT and so on above it comparisons.
constexpr int kFirstComparison = 13;

// What the operation, or the function where there is one, gives for the numbers (`b` may be null); null, and
// no exception set, where it raises or gives no int, float or bool.
Ref computed_number(int operation, PyObject* function, PyObject* a, PyObject* b);

}  // namespace weft::capture
