// A tensor as lanes: the one-dimensional runs along one dimension, for every index of the others.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/tensor.h"

namespace weft::kernels {

struct Lane {
  int64_t number;  // position of the lane in C order of the other dimensions
  int64_t offset;  // of its first element, in elements from tensor.data()
};

// Number of lanes of `shape` along `dim`; a 0-d tensor is one lane of one element.
int64_t num_lanes(const Shape& shape, int64_t dim);
// Offset of lane `number` of the tensor.
int64_t lane_offset(const Tensor& tensor, int64_t dim, int64_t number);
inline int64_t lane_length(const Tensor& tensor, int64_t dim) {
  return tensor.dim() == 0 ? 1 : tensor.size(dim);
}
inline int64_t lane_stride(const Tensor& tensor, int64_t dim) {
  return tensor.dim() == 0 ? 1 : tensor.strides()[static_cast<size_t>(dim)];
}
// Calls body(number) for every lane, on several threads when there is enough work.
void for_each_lane(const Tensor& tensor, int64_t dim, const std::function<void(int64_t)>& body);

}  // namespace weft::kernels
