// Pooling over up to three trailing dimensions. Inputs and results are contiguous planes of [depth, height,
// width].
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

namespace weft::kernels {

// The windows along one dimension: result i reads input begin[i], begin[i] + step, … < end[i].
struct PoolDim {
  int64_t size = 1;  // of the input
  int64_t step = 1;
  std::vector<int64_t> begin{0}, end{1};
  std::vector<int64_t> extent{1};  // what an average divides by, the product over the dimensions
  int64_t count() const { return static_cast<int64_t>(begin.size()); }
};
using PoolDims = std::array<PoolDim, 3>;  // depth, height, width

// The largest element of every window; NaN where there is one. Any real dtype.
void max_pool(const PoolDims& dims, const Tensor& input, const Tensor& result);
// And its position in the plane (int64): the first of equal elements, the last NaN.
void max_pool_with_indices(const PoolDims& dims, const Tensor& input, const Tensor& result,
                           const Tensor& indices);
// The sum of every window over `divisor`, or where that is 0 over the windows' extents. float32, float64.
void avg_pool(const PoolDims& dims, int64_t divisor, const Tensor& input, const Tensor& result);
// The mean of every window in 16 bits, as PyTorch's adaptive_avg_pool3d has it: float32 whose numbers are
// those of `dtype`, rounded to it after every step.
void avg_pool_rounded(const PoolDims& dims, DType dtype, const Tensor& input, const Tensor& result);
// Both of float32[batch, height, width, channels].
void max_pool_channels_last(const PoolDims& dims, const Tensor& input, const Tensor& result);
void avg_pool_channels_last(const PoolDims& dims, int64_t divisor, const Tensor& input, const Tensor& result);
// result[plane, indices[plane, i]] = input[plane, i]; ValueError for an index outside of the plane.
void max_unpool(const Tensor& input, const Tensor& indices, int64_t plane_size, const Tensor& result);

}  // namespace weft::kernels
