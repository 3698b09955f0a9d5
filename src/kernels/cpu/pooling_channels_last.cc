// Pooling of images with their channels last: a pixel's channels are one vector.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/cpu/pooling.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kFloatsPerTask = 16 * 1024;

using Floats = float __attribute__((vector_size(32)));
using Masks = int32_t __attribute__((vector_size(32)));
constexpr int64_t kLanes = 8, kVectors = 4;  // of channels that stay in registers while a window is walked

// NaN wins, as in the reference.
struct Largest {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static float combine(float x, float best) { return x > best || x != x ? x : best; }
  static Floats combine(Floats x, Floats best) {
    const Masks is_larger = (x > best) | (x != x);
    return is_larger ? x : best;
  }
};
void add(int64_t channels, const float* __restrict x, float* __restrict sum) {
  for (int64_t c = 0; c < channels; ++c) sum[c] += x[c];
}

// Calls body(batch, row, column) for every pixel of the result, in parallel over rows.
template <class F>
void for_each_pixel(const PoolDims& dims, int64_t batch, int64_t channels, F body) {
  const int64_t rows = dims[1].count(), columns = dims[2].count();
  const int64_t grain = std::max<int64_t>(1, kFloatsPerTask / std::max<int64_t>(1, columns * channels));
  parallel_for(0, batch * rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t column = 0; column < columns; ++column) body(i / rows, i % rows, column);
    }
  });
}

struct Image {
  const float* x;
  int64_t height, width, channels;
  const float* pixel(int64_t batch, int64_t row, int64_t column) const {
    return x + ((batch * height + row) * width + column) * channels;
  }
};

template <class F>
void for_each_tap(const PoolDims& dims, const Image& image, int64_t batch, int64_t row, int64_t column,
                  F body) {
  const PoolDim &vertical = dims[1], &horizontal = dims[2];
  const auto r = static_cast<size_t>(row), c = static_cast<size_t>(column);
  for (int64_t i = vertical.begin[r]; i < vertical.end[r]; i += vertical.step) {
    for (int64_t j = horizontal.begin[c]; j < horizontal.end[c]; j += horizontal.step)
      body(image.pixel(batch, i, j));
  }
}

}  // namespace

void max_pool_channels_last(const PoolDims& dims, const Tensor& input, const Tensor& result) {
  const Image image{input.data_as<float>(), input.shape()[1], input.shape()[2], input.shape()[3]};
  const int64_t channels = image.channels;
  float* const y = result.data_as<float>();
  for_each_pixel(dims, input.shape()[0], channels, [&](int64_t batch, int64_t row, int64_t column) {
    float* const best = y + ((batch * dims[1].count() + row) * dims[2].count() + column) * channels;
    int64_t c = 0;
    for (; c + kVectors * kLanes <= channels; c += kVectors * kLanes) {
      Floats block[kVectors];
      for (Floats& vector : block) vector = Largest::kStart - Floats{};
      for_each_tap(dims, image, batch, row, column, [&](const float* x) {
        for (int64_t v = 0; v < kVectors; ++v) {
          Floats loaded;
          std::memcpy(&loaded, x + c + v * kLanes, sizeof loaded);
          block[v] = Largest::combine(loaded, block[v]);
        }
      });
      std::memcpy(best + c, block, sizeof block);
    }
    std::fill(best + c, best + channels, Largest::kStart);
    for_each_tap(dims, image, batch, row, column, [&](const float* x) {
      for (int64_t i = c; i < channels; ++i) best[i] = Largest::combine(x[i], best[i]);
    });
  });
}

void avg_pool_channels_last(const PoolDims& dims, int64_t divisor, const Tensor& input,
                            const Tensor& result) {
  const Image image{input.data_as<float>(), input.shape()[1], input.shape()[2], input.shape()[3]};
  const int64_t channels = image.channels;
  float* const y = result.data_as<float>();
  for_each_pixel(dims, input.shape()[0], channels, [&](int64_t batch, int64_t row, int64_t column) {
    float* const sum = y + ((batch * dims[1].count() + row) * dims[2].count() + column) * channels;
    std::fill(sum, sum + channels, 0.0f);
    for_each_tap(dims, image, batch, row, column, [&](const float* x) { add(channels, x, sum); });
    const int64_t extent =
        dims[1].extent[static_cast<size_t>(row)] * dims[2].extent[static_cast<size_t>(column)];
    const float count = static_cast<float>(divisor ? divisor : extent);
    for (int64_t c = 0; c < channels; ++c) sum[c] /= count;
  });
}

}  // namespace weft::kernels
