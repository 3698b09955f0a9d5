// torch.autocast on the CPU: within a region, products are computed in a narrower dtype, and what loses too
// much there in float32.
#pragma once

#include <optional>
#include <string_view>
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

// The dtype that a region casts the floating point operands of the operator of that name to, where they have
// less than 64 bits; nullopt where it leaves them. For programs whose dtypes are known: `has_float32` of the
// operands. attrs: the equation of einsum; pad and mode of pad.
std::optional<DType> autocast_dtype(std::string_view name, const Attrs& attrs, bool has_float32, DType narrow);
// Does a region leave the operator's states ("hx") as they are, and compute in their dtype with the others' rounded
// numbers?
bool autocast_keeps_states(std::string_view name);

}  // namespace weft::ops
