// Which tensors may be written to element by element.
#pragma once

#include "weft/tensor.h"

namespace weft {

// RuntimeError where elements of `target` are one in memory (a dimension that was expanded), which is what
// PyTorch refuses to write different values to. Traced tensors have the strides that they have eagerly.
void check_distinct_elements(const Tensor& target);

}  // namespace weft
