// Operators whose results are as long as the elements say (text/sorting.inc): the device is waited for.
#pragma once

#include <span>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// nonzero, masked_select, unique, bincount, histc, repeat_interleave of what is in memory. Empty where the
// host has to do it.
std::vector<Tensor> run_counted(const ops::OpDef& op, const ops::OpArgs& args);
// Weighted histograms.
std::vector<Tensor> run_sum_between(const ops::OpDef& op, std::span<const Tensor> operands,
                                    const ops::Attrs& attrs);

}  // namespace weft::cuda
