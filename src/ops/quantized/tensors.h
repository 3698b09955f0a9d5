// Calls with tensors of quantized dtypes. PyTorch has few operators for them: those that move elements, order
// them, or compute on the numbers that the integers stand for and round again. The others are refused by
// name.
#pragma once

#include <span>

#include "ops/registry.h"

namespace weft::ops {

bool is_any_quantized(std::span<const Tensor> tensors);
// A strict call with a quantized operand.
std::vector<Tensor> call_quantized(const OpDef& op, const OpArgs& args);

// The same for promoted calls.
bool is_any_quantized(std::span<const Operand> operands);
Tensor invoke_quantized(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                        Promotion rules);

// x with its numbers rounded to another scale and zero point.
Tensor requantize(const Tensor& x, DType dtype, std::shared_ptr<const Quantizer> quantizer);

}  // namespace weft::ops
