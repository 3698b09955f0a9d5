// Calls with tensors of dtypes that are only stored (float8): their elements are moved, compared and
// converted, as in PyTorch; nothing computes with them, and graphs do not hold them.
#pragma once

#include "ops/registry.h"

namespace weft::ops {

// Is an operand of such a dtype, or is the result asked for?
bool concerns_stored_only(const OpDef& op, const OpArgs& args);
// NotImplementedError for an operator that PyTorch has not for them either.
std::vector<Tensor> call_stored_only(const OpDef& op, const OpArgs& args);

// A strict call that is not recorded; attributes are complete.
std::vector<Tensor> run_now(const OpDef& op, OpArgs args);

}  // namespace weft::ops
