// Results that would otherwise be the graph's own constants.
#pragma once

#include <vector>

#include "weft/tensor.h"

namespace weft::ir {

// Results that look at a constant's memory get memory of their own, which they share as before.
void copy_constants(std::vector<Tensor>& results, const std::vector<Tensor>& constants);

}  // namespace weft::ir
