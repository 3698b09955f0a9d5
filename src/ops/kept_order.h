// In which order results of operators that do not compute element by element lie in memory, where PyTorch's
// rules say another one than C order.
#pragma once

#include <vector>

#include "ops/registry.h"

namespace weft::ops {

// PyTorch's memory format channels_last: [n, c, h, w] or [n, c, d, h, w] whose channels lie densest. Of
// traced tensors with the strides and sizes of this call.
bool lies_channels_last(const Tensor& x);
// The dimensions of such a tensor from the one that lies widest to the one that lies densest.
std::vector<int64_t> channels_last_order(int64_t ndim);

// `call` under PyTorch's rules.
std::vector<Tensor> call_in_kept_order(const OpDef& op, OpArgs args);

}  // namespace weft::ops
