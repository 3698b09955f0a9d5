// Running the reduction primitives eagerly.
#pragma once

#include <span>
#include <vector>

#include "ops/registry.h"

namespace weft::ops {

// Sum and Prod take every element in the result's dtype (f16 and bf16: float32, rounded at the end). Sums of
// floating numbers are blocked and pairwise: the error grows with the logarithm of the number of elements.
// Min, Max, ArgMin and ArgMax let the first NaN win; the Arg pair gives the first of equal elements.
Tensor run_reduction(ReduceOp op, const Tensor& x, const std::vector<int64_t>& axes, bool keepdim,
                     DType result);

}  // namespace weft::ops
