// Sampling planes between their elements: interpolation on a regular grid, and at given positions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

namespace weft::kernels {

// Along one dimension: result i is the sum over k of weight[k * count + i] * input[index[k * count + i]].
struct Taps {
  int64_t size = 1;   // of the input
  int64_t count = 1;  // of the results
  std::vector<int64_t> index{0};
  std::vector<double> weight{1};
  int64_t number() const { return static_cast<int64_t>(index.size()) / count; }  // of taps
  bool is_identity() const;
};
using TapDims = std::array<Taps, 3>;  // depth, height, width

// Contiguous planes of [depth, height, width], float32 or float64, one dimension after another.
void interpolate(const TapDims& dims, const Tensor& input, const Tensor& result);

// The same for bytes, in fixed point: result i is the sum over k < count[i] of weight[i * taps + k] *
// input[first[i] + k], divided by 2^digits, rounded and kept within a byte.
struct ByteTaps {
  int64_t size, taps;
  int digits;
  std::vector<int64_t> first, count;
  std::vector<int32_t> weight;
  int64_t results() const { return static_cast<int64_t>(first.size()); }
};
// `numbers` in that form, as PyTorch has them: with as many digits as 16 bits hold of the largest weight.
ByteTaps byte_taps(const Taps& numbers);
// One dimension: contiguous uint8 [outer, size, inner] to [outer, results, inner].
void resize_bytes(const ByteTaps& taps, const uint8_t* from, uint8_t* to, int64_t outer, int64_t inner);

enum class SampleMode : uint8_t { Linear, Nearest, Cubic };
enum class SamplePadding : uint8_t { Zeros, Border, Reflection };

// result[n, c, i…] = input[n, c] at the position grid[n, i…] (x first, -1 to 1), for one to three dimensions
// i. Contiguous, of one floating dtype.
void sample(const Tensor& input, const Tensor& grid, SampleMode mode, SamplePadding padding,
            bool align_corners, const Tensor& result);

// The four weights of cubic convolution at distance t in [0, 1) behind the second one. source: Keys 1981.
template <class T>
std::array<T, 4> cubic_weights(T t, T a) {
  const auto near = [&](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [&](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

}  // namespace weft::kernels
