// The external functions that generated code calls for primitives no instruction computes.
#pragma once

#include <optional>

#include "scalar/expr.h"

namespace weft::scalar {

struct MathFunction {
  const char* name;     // the symbol: generated code declares it extern "C"
  const void* address;  // the same function in this process, for code that is linked by address
};

// The function of `prim` on numbers of `dtype` (F32 or F64). nullopt where `prim` is no external function.
std::optional<MathFunction> math_function(Prim prim, DType dtype);

}  // namespace weft::scalar
