// Operators whose results are as long as the elements say (text/sorting.inc): the device is waited for.
#pragma once

#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// nonzero, masked_select, unique, bincount of what is in memory. Empty where the host has to do it.
std::vector<Tensor> run_counted(const ops::OpDef& op, const ops::OpArgs& args);

}  // namespace weft::cuda
