// Random numbers of the default generator, for composites.
#pragma once

#include "ops/registry.h"

namespace weft::ops {

// Elements are zero with probability p, and the rest is divided by 1 - p; numbers are drawn in the order of x's memory.
Tensor dropped(const Tensor& x, double p);

}  // namespace weft::ops
