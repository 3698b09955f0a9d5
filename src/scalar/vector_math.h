// The external functions that generated code calls for primitives no instruction computes.
#pragma once

#include <optional>

#include "scalar/expr.h"

namespace weft::scalar {

struct MathFunction {
  const char* name;     // the symbol: generated code declares it extern "C"
  const void* address;  // the same function in this process, for code that is linked by address
  int lanes;            // 1: takes and returns plain numbers; else vectors of `lanes` elements, in registers
};

// The function of `prim` on `dtype` (F32 or F64) for vectors of 16, 32 or 64 bytes, or (0) for one number.
// All widths give the same bits. nullopt where there is none at that width (then the scalar one is called
// lane by lane), or where `prim` is no external function at all.
std::optional<MathFunction> math_function(Prim prim, DType dtype, int vector_bytes);
// Every function there is, for symbol tables.
std::vector<MathFunction> all_math_functions();

}  // namespace weft::scalar
