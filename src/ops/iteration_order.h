// In which order PyTorch lays out the dimensions of what operators compute element by element.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ops/registry.h"

namespace weft::ops {

// Dimensions of the operands' common shape from the one that lies widest in memory to the one that lies
// densest: those of the first operand that tells two of them apart. Dimensions that are repeated decide
// nothing. Empty: C order. Of traced tensors with the sizes of this call.
std::vector<int64_t> iteration_order(std::span<const Operand> operands);

// Strides of a tensor that lies so together, from the dimension that lies widest to the one that lies
// densest.
Strides strides_in(const std::vector<int64_t>& order, const Shape& shape);
// The tensor with its dimensions in this order, and back; views.
Tensor with_order(const Tensor& x, const std::vector<int64_t>& order);
std::vector<int64_t> inverse_order(const std::vector<int64_t>& order);

// What `compute` makes of the operands element by element, laid out so: it sees them in that order, and gives
// its result in it.
Tensor in_order_of_operands(std::span<const Operand> operands,
                            const std::function<Tensor(std::span<const Operand>)>& compute);
// The tensor in this dtype, in its own order of dimensions; itself where it has it.
Tensor to_in_order(const Tensor& x, DType dtype);
// `invoke` under PyTorch's rules.
Tensor invoke_in_order(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs);

}  // namespace weft::ops
