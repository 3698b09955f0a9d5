// Expressions without complex arithmetic, for code that knows real numbers only.
#pragma once

#include "scalar/expr.h"

namespace weft::scalar {

// The same in real arithmetic: complex operands occur as Real(Arg) and Imag(Arg) only, and a complex result
// is MakeComplex of two real expressions. Where there is no formula (exp, pow, …) the primitive stays.
Expr split_complex(const Expr& expression);

}  // namespace weft::scalar
