// Recurrent networks over whole sequences: products of all steps' inputs at once, then step by step one of
// the states and a kernel for the gates (text/recurrent.inc).
#pragma once

#include <span>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// Empty where the host has to do it.
std::vector<Tensor> run_recurrent(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs);

}  // namespace weft::cuda
