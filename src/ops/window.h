// Arguments of operators over windows of the trailing dimensions: pooling, im2col, interpolation.
#pragma once

#include <string_view>
#include <vector>

#include "ops/registry.h"

namespace weft::ops {

// An int[] argument with one value per spatial dimension; a single value counts for all of them.
std::vector<int64_t> spatial_arg(const OpDef& op, const Attrs& attrs, std::string_view name, size_t rank);
// The same for sizes, which may be symbolic.
SymShape spatial_sizes(const OpDef& op, const Attrs& attrs, std::string_view name, size_t rank);
// Of kernels, strides, dilations and paddings: products of two of them, and sums of these, fit 64 bits.
constexpr int64_t kLargestWindow = (int64_t{1} << 31) - 1;
// ValueError unless every value is from `low` to kLargestWindow.
void check_window(const OpDef& op, std::string_view name, const std::vector<int64_t>& values, int64_t low);
// ValueError unless the operand is [*spatial, C, …] with `rank` trailing spatial dimensions: (C, …) or (N, C,
// …), and no dimension but the batch is empty.
void check_planes(const OpDef& op, std::span<const TensorType> operands, size_t rank);
// TypeError unless the operand's dtype is in the operator's set.
void check_dtype(const OpDef& op, std::span<const TensorType> operands);

// Runs `body` on the contiguous operand in the dtype it computes in (float32 for float16 and bfloat16), with
// an uninitialized result of `shape`; gives the result in the operand's dtype.
Tensor run_in_compute_dtype(const Tensor& x, const Shape& shape,
                            const std::function<void(const Tensor&, const Tensor&)>& body);
// Shape of results without symbols.
Shape known_shape(const SymShape& shape);

}  // namespace weft::ops
