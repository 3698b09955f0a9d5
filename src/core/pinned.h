// Tensors in pinned memory, which devices copy from and to by themselves (core/backend.h).
#pragma once

#include "weft/tensor.h"

namespace weft {

bool is_pinned(const Tensor& tensor);
// A contiguous copy in pinned memory; itself where it is pinned. RuntimeError without a device that copies
// from it.
Tensor pinned(const Tensor& tensor);
// tensor.to(device), not waited for where one side is a device and the other pinned memory; what is copied to
// the process goes to pinned memory.
Tensor start_move(const Tensor& tensor, Device to);

}  // namespace weft
