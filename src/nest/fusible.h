// Which nodes a kernel can hold, and what they cost.
#pragma once

#include "ir/graph.h"

namespace weft::nest {

// True if the node can be part of a kernel.
bool is_fusible(const ir::Node& node);
// Cost of one element of a pointwise node, in additions.
double pointwise_cost(const ir::Node& node);

}  // namespace weft::nest
