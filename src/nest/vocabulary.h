// What generated code calls each scalar primitive, and which primitives it has: fusion and printing ask here.
#pragma once

#include "scalar/expr.h"

namespace weft::nest {

// "+", "&", … where the primitive is an infix operator on numbers; null otherwise.
const char* infix(scalar::Prim prim, DType operand);
// Function of the prelude; null where there is none.
const char* prelude_function(scalar::Prim prim, DType operand);
// Logic on masks; null where the primitive has no meaning on Bool here.
const char* mask_function(scalar::Prim prim);
// True if the code generator can print the primitive on operands of this dtype.
bool is_printable(scalar::Prim prim, DType operand);

}  // namespace weft::nest
