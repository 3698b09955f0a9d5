// Attention on GPUs (text/attention.inc).
#pragma once

#include <span>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// Empty where the call is none that the kernels compute.
std::vector<Tensor> run_attention(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs);
std::vector<Tensor> run_relative_attention(const ops::OpDef& op, std::span<const Tensor> operands,
                                           const ops::Attrs& attrs);
std::vector<Tensor> run_cached_attention(const ops::OpDef& op, std::span<const Tensor> operands,
                                         const ops::Attrs& attrs);

}  // namespace weft::cuda
