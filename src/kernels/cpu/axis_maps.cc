#include "kernels/cpu/axis_maps.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/rows.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// The longest part of a map that moves by one from position to position: copied as a block.
struct Run {
  int64_t begin = 0, end = 0;

  explicit Run(const AxisMap& map) {
    const int64_t size = static_cast<int64_t>(map.size());
    for (int64_t i = 0; i < size;) {
      int64_t j = i + 1;
      const int64_t first = map[static_cast<size_t>(i)];
      while (first >= 0 && j < size && map[static_cast<size_t>(j)] == first + j - i) ++j;
      if (first >= 0 && j - i > end - begin) begin = i, end = j;
      i = j;
    }
  }
};

template <class T>
void read_row(const T* source, int64_t stride, const AxisMap& map, const Run& run, T fill, T* target) {
  const auto one_by_one = [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t at = map[static_cast<size_t>(i)];
      target[i] = at < 0 ? fill : source[at * stride];
    }
  };
  if (stride != 1 || run.end - run.begin < 8) return one_by_one(0, static_cast<int64_t>(map.size()));
  one_by_one(0, run.begin);
  std::memcpy(target + run.begin, source + map[static_cast<size_t>(run.begin)],
              static_cast<size_t>(run.end - run.begin) * sizeof(T));
  one_by_one(run.end, static_cast<int64_t>(map.size()));
}

}  // namespace

Tensor read_through(const Tensor& x, const std::vector<AxisMap>& given, Scalar fill) {
  std::vector<AxisMap> maps = given;
  Shape shape;
  for (size_t d = 0; d < maps.size(); ++d) {
    if (given[d].empty()) {
      for (int64_t i = 0; i < x.shape()[d]; ++i) maps[d].push_back(i);
    }
    shape.push_back(static_cast<int64_t>(maps[d].size()));
  }
  const Tensor result = Tensor::empty(shape, x.dtype());
  if (result.numel() == 0) return result;
  const size_t last = shape.size() - 1;
  const Run run(maps[last]);
  const Tensor filler = Tensor::scalar(fill, x.dtype());
  visit_width(itemsize(x.dtype()), [&]<class T>(std::type_identity<T>) {
    const T value = *static_cast<const T*>(filler.data());
    const int64_t grain = std::max<int64_t>(1, 16 * 1024 / shape[last]);
    parallel_for(0, num_rows(shape), grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t rest = row, offset = 0;
        bool outside = false;
        for (size_t d = last; d-- > 0;) {
          const int64_t at = maps[d][static_cast<size_t>(rest % shape[d])];
          rest /= shape[d];
          outside |= at < 0;
          offset += at * x.strides()[d];
        }
        T* target = static_cast<T*>(result.data()) + row * shape[last];
        if (outside)
          std::fill(target, target + shape[last], value);
        else
          read_row(static_cast<const T*>(x.data()) + offset, x.strides()[last], maps[last], run, value,
                   target);
      }
    });
  });
  return result;
}

}  // namespace weft::kernels
