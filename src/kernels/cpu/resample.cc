#include "kernels/cpu/resample.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/floats.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// ---- on a regular grid
// ----------------------------------------------------------------------------------------- The taps of one
// dimension in the dtype to compute in.
template <class T>
struct TypedTaps {
  int64_t count, number;
  bool identity;
  std::vector<int64_t> index;
  std::vector<T> weight;

  explicit TypedTaps(const Taps& taps)
      : count(taps.count),
        number(taps.number()),
        identity(taps.is_identity()),
        index(taps.index),
        weight(taps.weight.begin(), taps.weight.end()) {}
};

// The rows of input that one row of results is made of, added up: in `scratch`, or the row itself.
template <class T>
const T* combine_rows(const TypedTaps<T>& depth, const TypedTaps<T>& height, const TapDims& dims, int64_t d,
                      int64_t h, const T* plane, std::vector<T>& scratch) {
  const int64_t width = dims[2].size;
  const T* only = nullptr;
  int64_t rows = 0;
  T* __restrict total = scratch.data();
  for (int64_t i = 0; i < depth.number; ++i) {
    for (int64_t j = 0; j < height.number; ++j) {
      const size_t at_depth = static_cast<size_t>(i * depth.count + d),
                   at_height = static_cast<size_t>(j * height.count + h);
      const T weight = depth.weight[at_depth] * height.weight[at_height];
      if (weight == 0) continue;
      const T* row = plane + (depth.index[at_depth] * dims[1].size + height.index[at_height]) * width;
      if (rows++ == 0) {
        if (weight == 1) only = row;
        for (int64_t w = 0; w < width; ++w) total[w] = row[w] * weight;
      } else {
        for (int64_t w = 0; w < width; ++w) total[w] += row[w] * weight;
      }
    }
  }
  if (rows == 0) std::fill(scratch.begin(), scratch.end(), T(0));
  return rows == 1 && only ? only : total;
}

template <class T>
void combine_columns(const TypedTaps<T>& width, const T* row, T* __restrict out) {
  const int64_t count = width.count;
  if (width.identity) {
    std::copy(row, row + count, out);
    return;
  }
  const int64_t* index = width.index.data();
  const T* weight = width.weight.data();
  if (width.number == 2) {
    for (int64_t i = 0; i < count; ++i)
      out[i] = row[index[i]] * weight[i] + row[index[count + i]] * weight[count + i];
    return;
  }
  for (int64_t i = 0; i < count; ++i) out[i] = row[index[i]] * weight[i];
  for (int64_t k = 1; k < width.number; ++k) {
    index += count, weight += count;
    for (int64_t i = 0; i < count; ++i) out[i] += row[index[i]] * weight[i];
  }
}

// ---- at given positions
// ----------------------------------------------------------------------------------------
// A number of 16 bits that is rounded after every operation: positions in float16 and bfloat16 are as coarse
// as PyTorch's, which computes them so.
template <class Storage>
struct Rounded {
  Storage value;

  Rounded() = default;
  template <class Number>
    requires std::is_arithmetic_v<Number>
  explicit(!std::is_same_v<Number, int>) Rounded(Number number) : value(static_cast<float>(number)) {}
  float number() const { return value; }
  explicit operator int64_t() const { return static_cast<int64_t>(number()); }

  friend Rounded operator+(Rounded a, Rounded b) { return Rounded(a.number() + b.number()); }
  friend Rounded operator-(Rounded a, Rounded b) { return Rounded(a.number() - b.number()); }
  friend Rounded operator*(Rounded a, Rounded b) { return Rounded(a.number() * b.number()); }
  friend Rounded operator/(Rounded a, Rounded b) { return Rounded(a.number() / b.number()); }
  Rounded& operator+=(Rounded other) { return *this = *this + other; }
  Rounded& operator*=(Rounded other) { return *this = *this * other; }
  friend bool operator==(Rounded a, Rounded b) { return a.number() == b.number(); }
  friend auto operator<=>(Rounded a, Rounded b) { return a.number() <=> b.number(); }
  friend Rounded abs(Rounded a) { return Rounded(std::abs(a.number())); }
  friend Rounded floor(Rounded a) { return Rounded(std::floor(a.number())); }
  friend Rounded nearbyint(Rounded a) { return Rounded(std::nearbyint(a.number())); }
  friend Rounded fmod(Rounded a, Rounded b) { return Rounded(std::fmod(a.number(), b.number())); }
};
using std::abs, std::floor, std::fmod, std::nearbyint;

template <class F>
void visit_sampled(DType dtype, F&& f) {
  if (dtype == DType::F16)
    f(std::type_identity<Rounded<Half>>{});
  else if (dtype == DType::BF16)
    f(std::type_identity<Rounded<BFloat16>>{});
  else
    visit_float(dtype, f);
}

template <class T>
T reflect(T x, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return T(0);
  const T low = static_cast<T>(twice_low) / 2, span = static_cast<T>(twice_high - twice_low) / 2;
  x = abs(x - low);
  const T rest = fmod(x, span);
  return fmod(floor(x / span), T(2)) == 0 ? rest + low : span - rest + low;
}

// What turns positions along one dimension into elements of the input.
template <class T>
struct Axis {
  int64_t size, stride;
  SamplePadding padding;
  bool align_corners;

  T unnormalize(T x) const {
    return align_corners ? (x + 1) / 2 * static_cast<T>(size - 1) : ((x + 1) * static_cast<T>(size) - 1) / 2;
  }
  T pad(T x) const {
    if (padding == SamplePadding::Reflection)
      x = align_corners ? reflect(x, 0, 2 * (size - 1)) : reflect(x, -1, 2 * size - 1);
    if (padding != SamplePadding::Zeros) x = std::min(static_cast<T>(size - 1), std::max(x, T(0)));
    // NaN, and what no integer holds, is outside.
    return x > T(-1e9) && x < T(1e9) ? x : T(-100);
  }
  int64_t offset(int64_t i) const { return i >= 0 && i < size ? i * stride : -1; }
};

template <class T>
struct AxisTaps {
  std::array<int64_t, 4> offset;  // -1: outside
  std::array<T, 4> weight;
};

template <class T>
AxisTaps<T> taps_at(const Axis<T>& axis, SampleMode mode, T position) {
  AxisTaps<T> taps{};
  const T x = axis.unnormalize(position);
  if (mode == SampleMode::Nearest) {
    taps.offset[0] = axis.offset(static_cast<int64_t>(nearbyint(axis.pad(x))));
    taps.weight[0] = 1;
  } else if (mode == SampleMode::Linear) {
    const T padded = axis.pad(x), low = floor(padded);
    const int64_t i = static_cast<int64_t>(low);
    taps.offset = {axis.offset(i), axis.offset(i + 1), -1, -1};
    taps.weight = {low + 1 - padded, padded - low, 0, 0};
  } else {
    const bool finite = x > T(-1e9) && x < T(1e9);
    const T low = finite ? floor(x) : T(-100);
    taps.weight = cubic_weights(finite ? x - low : T(0), T(-0.75));
    for (size_t k = 0; k < 4; ++k)
      taps.offset[k] = axis.offset(static_cast<int64_t>(axis.pad(low + static_cast<T>(k) - 1)));
  }
  return taps;
}

// Offsets in a plane and weights for one row of results, tap by tap. Of cubic convolution, four taps make a
// line, whose sum has a weight of its own.
template <class T>
struct RowTaps {
  std::vector<int64_t> offset;
  std::vector<T> weight;
  std::vector<T> line_weight;
};

template <class T>
void combine_axes(const std::vector<Axis<T>>& axes, SampleMode mode, const T* grid, int64_t count,
                  RowTaps<T>& row) {
  const size_t each = mode == SampleMode::Nearest  ? 1
                      : mode == SampleMode::Linear ? 2
                                                   : 4,
               rank = axes.size();
  size_t number = 1;
  for (size_t d = 0; d < rank; ++d) number *= each;
  row.offset.resize(number * static_cast<size_t>(count));
  row.weight.resize(row.offset.size());
  const bool has_lines = mode == SampleMode::Cubic;
  const size_t lines = has_lines ? number / each : 0;
  row.line_weight.resize(lines * static_cast<size_t>(count));
  std::array<AxisTaps<T>, 3> taps;
  for (int64_t i = 0; i < count; ++i) {
    for (size_t d = 0; d < rank; ++d)
      taps[d] = taps_at(axes[d], mode, grid[i * static_cast<int64_t>(rank) + static_cast<int64_t>(d)]);
    for (size_t k = 0; k < number; ++k) {
      int64_t offset = 0;
      T weight = 1;
      size_t rest = k;
      for (size_t d = 0; d < rank; ++d, rest /= each) {
        const int64_t part = taps[d].offset[rest % each];
        offset = offset < 0 || part < 0 ? -1 : offset + part;
        if (d == 0 || !has_lines) weight *= taps[d].weight[rest % each];
      }
      row.offset[k * static_cast<size_t>(count) + static_cast<size_t>(i)] = offset;
      row.weight[k * static_cast<size_t>(count) + static_cast<size_t>(i)] = weight;
    }
    for (size_t k = 0; k < lines; ++k) {
      T weight = taps[1].weight[k % each];
      if (rank == 3) weight *= taps[2].weight[k / each];
      row.line_weight[k * static_cast<size_t>(count) + static_cast<size_t>(i)] = weight;
    }
  }
}

template <class T>
void add_taps(const RowTaps<T>& row, size_t first, size_t end, const T* plane, int64_t count,
              T* __restrict out) {
  std::fill(out, out + count, T(0));
  for (size_t k = first; k < end; ++k) {
    const int64_t* offset = row.offset.data() + k * static_cast<size_t>(count);
    const T* weight = row.weight.data() + k * static_cast<size_t>(count);
    for (int64_t i = 0; i < count; ++i)
      out[i] += offset[i] < 0 ? T(0) : weight[i] * plane[std::max<int64_t>(offset[i], 0)];
  }
}

template <class T>
void apply_taps(const RowTaps<T>& row, const T* plane, int64_t count, std::vector<T>& line,
                T* __restrict out) {
  const size_t width = static_cast<size_t>(count), lines = row.line_weight.size() / width;
  const size_t number = row.offset.size() / width;
  if (lines == 0) return add_taps(row, 0, number, plane, count, out);
  const size_t each = number / lines;
  std::fill(out, out + count, T(0));
  line.resize(width);
  for (size_t k = 0; k < lines; ++k) {
    add_taps(row, k * each, (k + 1) * each, plane, count, line.data());
    const T* weight = row.line_weight.data() + k * width;
    for (size_t i = 0; i < width; ++i) out[i] += line[i] * weight[i];
  }
}

template <class T>
std::vector<Axis<T>> axes_of(const Tensor& input, SamplePadding padding, bool align_corners) {
  std::vector<Axis<T>> axes;
  for (size_t d = input.shape().size() - 1; d >= 2; --d)  // x, which is the last dimension, first
    axes.push_back({input.shape()[d], input.strides()[d], padding, align_corners});
  return axes;
}

}  // namespace

bool Taps::is_identity() const {
  if (count != size || number() != 1) return false;
  for (int64_t i = 0; i < count; ++i) {
    if (index[static_cast<size_t>(i)] != i || weight[static_cast<size_t>(i)] != 1) return false;
  }
  return true;
}

void interpolate(const TapDims& dims, const Tensor& input, const Tensor& result) {
  if (result.numel() == 0) return;
  visit_float(input.dtype(), [&]<class T>(std::type_identity<T>) {
    const TypedTaps<T> depth(dims[0]), height(dims[1]), width(dims[2]);
    const int64_t rows = depth.count * height.count, plane = dims[0].size * dims[1].size * dims[2].size;
    const int64_t work = depth.number * height.number * dims[2].size + width.number * width.count;
    parallel_for(0, result.numel() / width.count, std::max<int64_t>(1, kElementsPerTask / work),
                 [&](int64_t begin, int64_t end) {
                   std::vector<T> scratch(static_cast<size_t>(dims[2].size));
                   for (int64_t row = begin; row < end; ++row) {
                     const T* source = input.data_as<T>() + row / rows * plane;
                     const T* combined = combine_rows(depth, height, dims, row / height.count % depth.count,
                                                      row % height.count, source, scratch);
                     combine_columns(width, combined, result.data_as<T>() + row * width.count);
                   }
                 });
  });
}

ByteTaps byte_taps(const Taps& numbers) {
  ByteTaps taps{
      .size = numbers.size, .taps = numbers.number(), .digits = 0, .first = {}, .count = {}, .weight = {}};
  const auto at = [&](int64_t k, int64_t i) { return static_cast<size_t>(k * numbers.count + i); };
  std::vector<double> weights(static_cast<size_t>(numbers.count * taps.taps));
  double largest = 0;
  for (int64_t i = 0; i < numbers.count; ++i) {
    const int64_t first = numbers.index[at(0, i)];
    int64_t last = first;
    for (int64_t k = 0; k < taps.taps; ++k) {  // what lies outside counts for the elements at the edge
      const int64_t place = numbers.index[at(k, i)];
      double& weight = weights[static_cast<size_t>(i * taps.taps + place - first)];
      weight += numbers.weight[at(k, i)];
      largest = std::max(largest, weight);
      last = std::max(last, place);
    }
    taps.first.push_back(first);
    taps.count.push_back(last - first + 1);
  }
  constexpr int kMostDigits = 22;
  while (taps.digits < kMostDigits && static_cast<int>(0.5 + largest * (2 << taps.digits)) < 1 << 15)
    ++taps.digits;
  for (const double weight : weights) {
    const double scaled = weight * (1 << taps.digits);
    taps.weight.push_back(static_cast<int32_t>(scaled + (scaled < 0 ? -0.5 : 0.5)));
  }
  return taps;
}

void resize_bytes(const ByteTaps& taps, const uint8_t* from, uint8_t* to, int64_t outer, int64_t inner) {
  const int64_t results = taps.results();
  const auto rounded = [&](int32_t sum) {
    return static_cast<uint8_t>(std::clamp(sum >> taps.digits, 0, 255));
  };
  const int32_t half = taps.digits > 0 ? 1 << (taps.digits - 1) : 0;
  parallel_for(0, outer * results,
               std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, inner * taps.taps)),
               [&](int64_t begin, int64_t end) {
                 std::vector<int32_t> sums(static_cast<size_t>(inner));
                 for (int64_t task = begin; task < end; ++task) {
                   const auto i = static_cast<size_t>(task % results);
                   const uint8_t* source = from + (task / results * taps.size + taps.first[i]) * inner;
                   const int32_t* weights = &taps.weight[i * static_cast<size_t>(taps.taps)];
                   const int64_t count = taps.count[i];
                   if (inner == 1) {
                     int32_t sum = half;
                     for (int64_t k = 0; k < count; ++k) sum += weights[k] * source[k];
                     to[task] = rounded(sum);
                     continue;
                   }
                   std::fill(sums.begin(), sums.end(), half);
                   for (int64_t k = 0; k < count; ++k, source += inner)
                     for (int64_t c = 0; c < inner; ++c)
                       sums[static_cast<size_t>(c)] += weights[k] * source[c];
                   for (int64_t c = 0; c < inner; ++c)
                     to[task * inner + c] = rounded(sums[static_cast<size_t>(c)]);
                 }
               });
}

void sample(const Tensor& input, const Tensor& grid, SampleMode mode, SamplePadding padding,
            bool align_corners, const Tensor& result) {
  if (result.numel() == 0) return;
  const int64_t channels = input.size(1), count = result.size(-1),
                rows = grid.numel() / (count * grid.size(-1));
  const int64_t rows_per_image = rows / input.size(0), plane = input.strides()[1];
  visit_sampled(input.dtype(), [&]<class T>(std::type_identity<T>) {
    const std::vector<Axis<T>> axes = axes_of<T>(input, padding, align_corners);
    parallel_for(0, rows, std::max<int64_t>(1, kElementsPerTask / (16 * count * (channels + 8))),
                 [&](int64_t begin, int64_t end) {
                   RowTaps<T> taps;
                   std::vector<T> line;
                   for (int64_t row = begin; row < end; ++row) {
                     combine_axes(axes, mode,
                                  grid.data_as<T>() + row * count * static_cast<int64_t>(axes.size()), count,
                                  taps);
                     const int64_t image = row / rows_per_image, at = row % rows_per_image;
                     for (int64_t c = 0; c < channels; ++c) {
                       const int64_t number = image * channels + c;
                       apply_taps(taps, input.data_as<T>() + number * plane, count, line,
                                  result.data_as<T>() + (number * rows_per_image + at) * count);
                     }
                   }
                 });
  });
}

}  // namespace weft::kernels
