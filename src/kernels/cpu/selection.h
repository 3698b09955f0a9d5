// What bool arrays select: elements and positions.
#pragma once

#include "weft/tensor.h"

namespace weft::kernels {

// [n, ndim], int64: the indices of elements that differ from zero, in C order.
Tensor nonzero(const Tensor& x);
// [n]: the elements of x where mask (bool, of x's shape) holds, in C order.
Tensor masked_select(const Tensor& x, const Tensor& mask);

}  // namespace weft::kernels
