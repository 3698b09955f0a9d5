// Ranges of numbers as PyTorch's kernel for processors computes them: of each run of 32 bytes the first
// number is rounded to the dtype, and the others lie steps from it; what is left behind the last two whole
// runs is each computed from the start. float16 and bfloat16 compute in float32, the others in float64.
#pragma once

#include "ops/registry.h"

namespace weft::ops {

// Of floating-point numbers; ranges of other dtypes are plain.
bool is_rounded_in_runs(DType dtype);
// start + i * step for i < count, of shape [count].
Tensor torch_range(int64_t count, Scalar start, Scalar step, DType dtype, Device device);

// The same of numbers that are not known, for dtypes that are rounded in runs. `whole`: whole_runs() as a
// number or tensor.
Tensor range_in_runs(const Sym& count, const Operand& whole, const Operand& start, const Operand& step,
                     DType dtype, Device device = {});
// How many of so many numbers lie in pairs of whole runs.
Sym whole_runs(const Sym& count, DType dtype);

}  // namespace weft::ops
