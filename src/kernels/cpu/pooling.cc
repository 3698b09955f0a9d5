#include "kernels/cpu/pooling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/cpu/floats.h"
#include "kernels/cpu/vector_sum.h"
#include "weft/detail/visit_dtype.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

template <class T>
constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::lowest();

struct Max {
  template <class T>
  static T combine(T value, T best) {
    return value > best || value != value ? value : best;
  }
  template <class T>
  static T start() {
    return kLowest<T>;
  }
};

struct Sum {
  template <class T>
  static T combine(T value, T sum) {
    return sum + value;
  }
  template <class T>
  static T start() {
    return T(0);
  }
};

// The windows that have every element, [first, last), when all of them are one kernel moved by one stride.
struct Interior {
  int64_t first = 0, last = 0, kernel = 0, stride = 0;

  explicit Interior(const PoolDim& dim) {
    const auto taps = [&](int64_t i) {
      const size_t at = static_cast<size_t>(i);
      return (dim.end[at] - dim.begin[at] + dim.step - 1) / dim.step;
    };
    for (int64_t i = 0; i < dim.count(); ++i) kernel = std::max(kernel, taps(i));
    while (first < dim.count() && taps(first) != kernel) ++first;
    last = first;
    while (last < dim.count() && taps(last) == kernel) {
      const size_t at = static_cast<size_t>(last);
      if (last == first + 1) stride = dim.begin[at] - dim.begin[at - 1];
      if (last > first && dim.begin[at] - dim.begin[at - 1] != stride) break;
      ++last;
    }
  }
};

template <class Op, int64_t kStride, class T>
void combine_taps(const T* __restrict row, T* __restrict out, int64_t count, int64_t stride) {
  const int64_t by = kStride ? kStride : stride;
  for (int64_t i = 0; i < count; ++i) out[i] = Op::combine(row[i * by], out[i]);
}

// One row of results from one row of input, reduced already over the other dimensions.
template <class Op, class T>
void pool_row(const PoolDim& dim, const Interior& interior, const T* row, T* out) {
  const auto edge = [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      T value = Op::template start<T>();
      const size_t at = static_cast<size_t>(i);
      for (int64_t j = dim.begin[at]; j < dim.end[at]; j += dim.step) value = Op::combine(row[j], value);
      out[i] = value;
    }
  };
  if (interior.last - interior.first < 4) return edge(0, dim.count());
  edge(0, interior.first);
  edge(interior.last, dim.count());
  const int64_t count = interior.last - interior.first;
  T* inside = out + interior.first;
  std::fill(inside, inside + count, Op::template start<T>());
  const T* source = row + dim.begin[static_cast<size_t>(interior.first)];
  for (int64_t tap = 0; tap < interior.kernel; ++tap, source += dim.step) {
    if (interior.stride == 1)
      combine_taps<Op, 1>(source, inside, count, 1);
    else if (interior.stride == 2)
      combine_taps<Op, 2>(source, inside, count, 2);
    else
      combine_taps<Op, 0>(source, inside, count, interior.stride);
  }
}

// The rows of input that one row of results reads, reduced to one row: in `scratch`, or the row itself.
template <class Op, class T>
const T* reduce_rows(const PoolDims& dims, const T* plane, size_t depth, size_t height,
                     std::vector<T>& scratch) {
  const int64_t width = dims[2].size;
  const T* first = nullptr;
  bool copied = false;
  for (int64_t d = dims[0].begin[depth]; d < dims[0].end[depth]; d += dims[0].step) {
    for (int64_t h = dims[1].begin[height]; h < dims[1].end[height]; h += dims[1].step) {
      const T* row = plane + (d * dims[1].size + h) * width;
      if (!first) {
        first = row;
        continue;
      }
      const T* left = copied ? scratch.data() : first;
      T* target = scratch.data();
      for (int64_t w = 0; w < width; ++w) target[w] = Op::combine(row[w], left[w]);
      copied = true;
    }
  }
  if (!first) std::fill(scratch.begin(), scratch.end(), Op::template start<T>());
  return first && !copied ? first : scratch.data();
}

// body(row number, plane, depth, height) for every row of results, on several threads.
template <class F>
void for_each_result_row(const PoolDims& dims, int64_t planes, F&& body) {
  const int64_t depth = dims[0].count(), height = dims[1].count();
  const int64_t window =
      std::max<int64_t>(1, (dims[0].end[0] - dims[0].begin[0]) * (dims[1].end[0] - dims[1].begin[0]));
  const int64_t grain = std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, window * dims[2].size));
  parallel_for(0, planes * depth * height, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      body(row, row / (depth * height), static_cast<size_t>(row / height % depth),
           static_cast<size_t>(row % height));
    }
  });
}

int64_t plane_size(const PoolDims& dims) { return dims[0].size * dims[1].size * dims[2].size; }
int64_t result_size(const PoolDims& dims) { return dims[0].count() * dims[1].count() * dims[2].count(); }

template <class Op, class T, class Finish>
void pool(const PoolDims& dims, const Tensor& input, const Tensor& result, Finish&& finish) {
  if (result.numel() == 0) return;
  const Interior interior(dims[2]);
  const T* source = input.data_as<T>();
  T* target = result.data_as<T>();
  const int64_t width = dims[2].count();
  for_each_result_row(
      dims, result.numel() / result_size(dims), [&](int64_t row, int64_t plane, size_t depth, size_t height) {
        thread_local std::vector<T> scratch;
        scratch.resize(static_cast<size_t>(dims[2].size));
        const T* reduced = reduce_rows<Op>(dims, source + plane * plane_size(dims), depth, height, scratch);
        T* out = target + row * width;
        pool_row<Op>(dims[2], interior, reduced, out);
        finish(out, depth, height);
      });
}

template <class F>
void visit_real(DType dtype, F&& f) {
  visit_dtype(dtype, [&]<class T>(std::type_identity<T> type) {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      f(type);
    else
      WEFT_ASSERT(false, "pooling: unexpected dtype");
  });
}

}  // namespace

void max_pool(const PoolDims& dims, const Tensor& input, const Tensor& result) {
  visit_real(input.dtype(), [&]<class T>(std::type_identity<T>) {
    pool<Max, T>(dims, input, result, [](T*, size_t, size_t) {});
  });
}

namespace {

// One window that is the whole plane: its elements lie one after another.
bool is_whole_plane(const PoolDims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const PoolDim& dim) {
    return dim.count() == 1 && dim.begin[0] == 0 && dim.end[0] == dim.size && dim.step == 1;
  });
}

template <class T>
void average_planes(const PoolDims& dims, int64_t divisor, const Tensor& input, const Tensor& result) {
  const int64_t size = plane_size(dims),
                by = divisor ? divisor : dims[0].extent[0] * dims[1].extent[0] * dims[2].extent[0];
  parallel_for(0, result.numel(), std::max<int64_t>(1, kElementsPerTask / size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t plane = begin; plane < end; ++plane) {
                   const double sum =
                       vector_sum(input.data_as<T>() + plane * size, size, [](T value) { return value; });
                   result.data_as<T>()[plane] = static_cast<T>(sum / static_cast<double>(by));
                 }
               });
}

template <class Storage>
float mean_rounded(const PoolDims& dims, const std::array<size_t, 3>& window, const float* plane) {
  const auto rounded = [](float x) { return static_cast<float>(Storage(x)); };
  const auto& [d, h, w] = window;
  float sum = 0;
  for (int64_t z = dims[0].begin[d]; z < dims[0].end[d]; ++z)
    for (int64_t y = dims[1].begin[h]; y < dims[1].end[h]; ++y)
      for (int64_t x = dims[2].begin[w]; x < dims[2].end[w]; ++x)
        sum = rounded(sum + plane[(z * dims[1].size + y) * dims[2].size + x]);
  for (size_t i = 0; i < 3; ++i) sum = rounded(sum / rounded(static_cast<float>(dims[i].extent[window[i]])));
  return sum;
}

}  // namespace

void avg_pool_rounded(const PoolDims& dims, DType dtype, const Tensor& input, const Tensor& result) {
  const size_t depth = dims[0].begin.size(), height = dims[1].begin.size(), width = dims[2].begin.size();
  const int64_t windows = static_cast<int64_t>(depth * height * width), size = plane_size(dims);
  if (result.numel() == 0) return;
  parallel_for(0, result.numel() / windows,
               std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, size)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t plane = begin; plane < end; ++plane) {
                   const float* from = input.data_as<float>() + plane * size;
                   float* to = result.data_as<float>() + plane * windows;
                   for (size_t d = 0; d < depth; ++d)
                     for (size_t h = 0; h < height; ++h)
                       for (size_t w = 0; w < width; ++w)
                         *to++ = dtype == DType::F16 ? mean_rounded<Half>(dims, {d, h, w}, from)
                                                     : mean_rounded<BFloat16>(dims, {d, h, w}, from);
                 }
               });
}

void avg_pool(const PoolDims& dims, int64_t divisor, const Tensor& input, const Tensor& result) {
  if (is_whole_plane(dims)) {
    return visit_float(input.dtype(), [&]<class T>(std::type_identity<T>) {
      average_planes<T>(dims, divisor, input, result);
    });
  }
  visit_float(input.dtype(), [&]<class T>(std::type_identity<T>) {
    pool<Sum, T>(dims, input, result, [&](T* out, size_t depth, size_t height) {
      const int64_t rows = dims[0].extent[depth] * dims[1].extent[height];
      for (size_t w = 0; w < dims[2].begin.size(); ++w) {
        const int64_t by = divisor ? divisor : rows * dims[2].extent[w];
        const bool empty = dims[0].begin[depth] >= dims[0].end[depth] ||
                           dims[1].begin[height] >= dims[1].end[height] || dims[2].begin[w] >= dims[2].end[w];
        out[w] = empty ? T(0) : out[w] / static_cast<T>(by);
      }
    });
  });
}

void max_pool_with_indices(const PoolDims& dims, const Tensor& input, const Tensor& result,
                           const Tensor& indices) {
  if (result.numel() == 0) return;
  visit_real(input.dtype(), [&]<class T>(std::type_identity<T>) {
    const int64_t width = dims[2].count();
    for_each_result_row(
        dims, result.numel() / result_size(dims),
        [&](int64_t row, int64_t plane, size_t depth, size_t height) {
          const T* source = input.data_as<T>() + plane * plane_size(dims);
          for (int64_t i = 0; i < width; ++i) {
            const size_t w = static_cast<size_t>(i);
            T best = kLowest<T>;
            int64_t position = (dims[0].begin[depth] * dims[1].size + dims[1].begin[height]) * dims[2].size +
                               dims[2].begin[w];
            for (int64_t d = dims[0].begin[depth]; d < dims[0].end[depth]; d += dims[0].step) {
              for (int64_t h = dims[1].begin[height]; h < dims[1].end[height]; h += dims[1].step) {
                for (int64_t j = dims[2].begin[w]; j < dims[2].end[w]; j += dims[2].step) {
                  const int64_t at = (d * dims[1].size + h) * dims[2].size + j;
                  if (!(source[at] > best || source[at] != source[at])) continue;
                  best = source[at];
                  position = at;
                }
              }
            }
            result.data_as<T>()[row * width + i] = best;
            indices.data_as<int64_t>()[row * width + i] = position;
          }
        });
  });
}

void max_unpool(const Tensor& input, const Tensor& indices, int64_t plane_size, const Tensor& result) {
  std::memset(result.data(), 0, static_cast<size_t>(result.numel() * itemsize(result.dtype())));
  if (input.numel() == 0 || plane_size == 0) return;
  const int64_t planes = result.numel() / plane_size, count = input.numel() / planes;
  visit_real(input.dtype(), [&]<class T>(std::type_identity<T>) {
    parallel_for(
        0, planes, std::max<int64_t>(1, kElementsPerTask / plane_size), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin * count; i < end * count; ++i) {
            const int64_t at = indices.data_as<int64_t>()[i];
            WEFT_CHECK(at >= 0 && at < plane_size,
                       fmt::format("max_unpool: found an invalid max index {}: expected one in [0, {})", at,
                                   plane_size));
            result.data_as<T>()[i / count * plane_size + at] = input.data_as<T>()[i];
          }
        });
  });
}

}  // namespace weft::kernels
