#include "kernels/cpu/lanes.h"

#include <algorithm>

#include "weft/parallel.h"

namespace weft::kernels {

int64_t num_lanes(const Shape& shape, int64_t dim) {
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<int64_t>(d) != dim) count *= shape[d];
  }
  return count;
}

int64_t lane_offset(const Tensor& tensor, int64_t dim, int64_t number) {
  int64_t offset = 0;
  for (int64_t d = tensor.dim() - 1; d >= 0; --d) {
    if (d == dim) continue;
    const int64_t size = tensor.shape()[static_cast<size_t>(d)];
    offset += number % size * tensor.strides()[static_cast<size_t>(d)];
    number /= size;
  }
  return offset;
}

void for_each_lane(const Tensor& tensor, int64_t dim, const std::function<void(int64_t)>& body) {
  constexpr int64_t kElementsAtOnce = 16 * 1024;
  const int64_t grain =
      std::max<int64_t>(1, kElementsAtOnce / std::max<int64_t>(1, lane_length(tensor, dim)));
  parallel_for(0, num_lanes(tensor.shape(), dim), grain, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane) body(lane);
  });
}

}  // namespace weft::kernels
