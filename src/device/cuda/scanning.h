// Scans along a dimension (text/scanning.inc).
#pragma once

#include <span>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// cumsum, cumprod, logcumsumexp, cummax, cummin. Empty where the host has to do it.
std::vector<Tensor> run_scan(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs);

}  // namespace weft::cuda
