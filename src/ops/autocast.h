// torch.autocast on the CPU: within a region, products are computed in a narrower dtype, and what loses too
// much there in float32.
#pragma once

#include <vector>

#include "ops/registry.h"

namespace weft::ops {

struct Autocast {
  bool enabled = false;
  DType dtype = DType::BF16;  // of products
  bool keeps_casts = true;    // what the program has asked for; casts are made at each call
  bool operator==(const Autocast&) const = default;
};

// Of the calling thread.
Autocast autocast();
void set_autocast(const Autocast& state);

// Operators that are called by their own name are given operands of the dtypes that PyTorch's lists say.
// Those of float64 and of integers stay as they are. Only where autocast is enabled.
void autocast_operands(const OpDef& op, std::vector<Operand>& operands, const Attrs& attrs);

}  // namespace weft::ops
