// Which tensors may be written to element by element.
#pragma once

#include <optional>

#include "weft/tensor.h"

namespace weft {

// The first dimension along which several elements are one in memory: one of more than one element, of stride
// 0. None where there are no elements.
std::optional<size_t> expanded_dimension(const Tensor& tensor);

// RuntimeError where elements of `target` are one in memory (a dimension that was expanded), which is what
// PyTorch refuses to write different values to. Traced tensors have the strides that they have eagerly.
void check_distinct_elements(const Tensor& target);

}  // namespace weft
