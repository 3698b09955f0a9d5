#include "ops/quantized/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/quantized.h"
#include "kernels/cpu/gemm_int8.h"
#include "ops/registry.h"
#include "weft/error.h"

namespace weft::ops {
namespace {

[[noreturn]] void fail(const char* what, const Tensor& x, const Tensor& weight) {
  throw_error(ErrorKind::Value, fmt::format("quantized product: {}\n  x: {}   weight: {}", what, describe(x),
                                            describe(weight)));
}

// The operands' scales, by output.
class Scales {
 public:
  Scales(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t outputs,
         const AffineFinish& finish)
      : finish_(finish) {
    const Quantizer &of_x = *x.quantizer(), &of_weight = *weight.quantizer();
    const auto scale_x = static_cast<float>(of_x.scales[0]);
    const Tensor floats = bias.defined() ? bias.to(DType::F32).contiguous() : Tensor();
    if (floats.defined() && floats.numel() != outputs) fail("expected a bias for each output", bias, weight);
    for (int64_t n = 0; n < outputs; ++n) {
      const auto at = static_cast<size_t>(of_weight.is_per_channel() ? n : 0);
      product_.push_back(scale_x * static_cast<float>(of_weight.scales[at]));
      weight_zero_.push_back(static_cast<int32_t>(of_weight.zero_points[at]));
      const float number = floats.defined() ? floats.data_as<float>()[n] : 0;
      if (finish.rounded) {
        multiplier_.push_back(product_.back() / static_cast<float>(finish.rounded->scale));
        bias_.push_back(floats.defined() ? number / product_.back() : 0);
      } else {
        bias_.push_back(number);
      }
    }
    if (finish.rounded) {
      QuantizedRange range = range_of(finish.rounded->dtype);
      zero_ = static_cast<int32_t>(finish.rounded->zero_point);
      if (finish.relu) range.low = std::max<int64_t>(range.low, zero_);
      least_ = static_cast<float>(range.low - zero_);
      most_ = static_cast<float>(range.high - zero_);
    }
  }

  int32_t weight_zero(int64_t n) const { return weight_zero_[static_cast<size_t>(n)]; }

  // Of `count` sums, for outputs from n on.
  template <class T>
  void finish(const int32_t* sums, int64_t count, int64_t n, T* to) const {
    for (int64_t i = 0; i < count; ++i) {
      const auto output = static_cast<size_t>(n + i);
      const auto sum = static_cast<float>(sums[i]);
      if constexpr (std::is_same_v<T, float>) {
        const float number = std::fma(sum, product_[output], bias_[output]);
        to[i] = finish_.relu ? std::max(number, 0.0F) : number;
      } else {
        // Limited first: limits are whole, and numbers below 2^22 are rounded, half to even, by this sum.
        constexpr float kUnits = 12582912.0F;  // 1.5 * 2^23
        const float number = (sum + bias_[output]) * multiplier_[output];
        const float limited = std::min(std::max(least_, number), most_);
        to[i] = static_cast<T>(static_cast<int32_t>((limited + kUnits) - kUnits) + zero_);
      }
    }
  }

 private:
  const AffineFinish& finish_;
  std::vector<float> product_, multiplier_, bias_;
  std::vector<int32_t> weight_zero_;
  float least_ = 0, most_ = 0;  // steps from the zero point
  int32_t zero_ = 0;
};

// x less 128 where it is unsigned, so that it is signed; and its zero point likewise.
struct Signed {
  Tensor integers;
  int32_t zero;
};
Signed signed_integers(const Tensor& x) {
  const auto zero = static_cast<int32_t>(x.quantizer()->zero_points[0]);
  const Tensor integers = as_integers(x).contiguous();
  if (x.dtype() == DType::QI8) return {integers, zero};
  const Tensor shifted = Tensor::empty(x.shape(), DType::I8);
  const auto* const from = integers.data_as<uint8_t>();
  auto* const to = shifted.data_as<int8_t>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = static_cast<int8_t>(from[i] ^ 0x80);
  return {shifted, zero - 128};
}

void check_operands(const Tensor& x, const Tensor& weight) {
  if (x.dtype() != DType::QU8 && x.dtype() != DType::QI8) fail("expected quint8 or qint8 x", x, weight);
  if (weight.dtype() != DType::QI8) fail("expected a qint8 weight", x, weight);
  if (!x.quantizer() || x.quantizer()->is_per_channel()) fail("expected x quantized per tensor", x, weight);
  if (!weight.quantizer()) fail("the weight has no scale", x, weight);
}

// With strides of its own.
Tensor empty_result(const Shape& shape, const Strides& strides, const AffineFinish& finish) {
  const DType integers = finish.rounded && finish.rounded->dtype == DType::QI8 ? DType::I8 : DType::U8;
  const Tensor memory = Tensor::empty({weft::numel(shape)}, finish.rounded ? integers : DType::F32);
  const Tensor result(memory.storage(), memory.dtype(), shape, strides);
  if (!finish.rounded) return result;
  return of_integers(result, finish.rounded->dtype,
                     per_tensor(finish.rounded->scale, finish.rounded->zero_point));
}

// Channels lie densest, as in PyTorch's results of quantized convolutions.
Strides channels_last_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t step = strides[1] = 1;
  step = std::max<int64_t>(shape[1], 1);
  for (size_t d = shape.size(); d-- > 2;) {
    strides[d] = step;
    step *= std::max<int64_t>(shape[d], 1);
  }
  strides[0] = step;
  return strides;
}

template <class F>
void visit_result(const Tensor& result, F&& f) {
  switch (result.dtype()) {
    case DType::QU8: return f(result.data_as<uint8_t>());
    case DType::QI8: return f(result.data_as<int8_t>());
    default: return f(result.data_as<float>());
  }
}

// Sums of rows of int8.
std::vector<int32_t> row_sums(const int8_t* rows, int64_t count, int64_t depth) {
  std::vector<int32_t> sums(static_cast<size_t>(count), 0);
  for (int64_t row = 0; row < count; ++row)
    for (int64_t i = 0; i < depth; ++i) sums[static_cast<size_t>(row)] += rows[row * depth + i];
  return sums;
}

// sums[m][n] of (x - zero_x) * (w - zero_w[n]), from x[m][k] and w[n][k].
void multiply(const int8_t* x, int64_t m, int32_t zero_x, const int8_t* weight, int64_t n, int64_t k,
              const Scales& scales, int64_t first_output, int32_t* sums) {
  kernels::gemm_int8(kernels::int8_kernels(), m, n, k, {x, k, 1}, {weight, 1, k}, sums);
  const std::vector<int32_t> of_weight = row_sums(weight, n, k);
  std::vector<int32_t> less(static_cast<size_t>(n));
  bool has_weight_zero = false;
  for (int64_t j = 0; j < n; ++j) {
    const int32_t zero = scales.weight_zero(first_output + j);
    has_weight_zero |= zero != 0;
    less[static_cast<size_t>(j)] =
        zero_x * of_weight[static_cast<size_t>(j)] - static_cast<int32_t>(k) * zero_x * zero;
  }
  const std::vector<int32_t> of_x = has_weight_zero ? row_sums(x, m, k) : std::vector<int32_t>();
  for (int64_t i = 0; i < m; ++i) {
    int32_t* const row = sums + i * n;
    for (int64_t j = 0; j < n; ++j) row[j] -= less[static_cast<size_t>(j)];
    if (!has_weight_zero) continue;
    for (int64_t j = 0; j < n; ++j)
      row[j] -= of_x[static_cast<size_t>(i)] * scales.weight_zero(first_output + j);
  }
}

// ---- convolutions ----------------------------------------------------------------------------------------
// Three spatial dimensions throughout; the first ones have size 1 where there are fewer.
struct Window {
  int64_t in[3], kernel[3], out[3], stride[3], padding[3], dilation[3];
  int64_t channels, taps;
};

int64_t product(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

Window window_of(const Tensor& x, const Tensor& weight, const AffineConv& conv) {
  const size_t spatial = static_cast<size_t>(x.dim()) - 2, skipped = 3 - spatial;
  Window window{};
  for (size_t d = 0; d < 3; ++d) {
    const bool is_there = d >= skipped;
    const size_t at = d - skipped;
    window.in[d] = is_there ? x.shape()[at + 2] : 1;
    window.kernel[d] = is_there ? weight.shape()[at + 2] : 1;
    window.stride[d] = is_there ? conv.stride.at(at) : 1;
    window.padding[d] = is_there ? conv.padding.at(at) : 0;
    window.dilation[d] = is_there ? conv.dilation.at(at) : 1;
    if (window.stride[d] < 1 || window.dilation[d] < 1 || window.kernel[d] < 1)
      fail("expected a stride, dilation and kernel of at least 1", x, weight);
    window.out[d] = (window.in[d] + 2 * window.padding[d] - window.dilation[d] * (window.kernel[d] - 1) - 1) /
                        window.stride[d] +
                    1;
    if (window.in[d] + 2 * window.padding[d] < window.dilation[d] * (window.kernel[d] - 1) + 1)
      fail("the kernel is larger than the padded input", x, weight);
  }
  window.channels = weight.shape()[1];
  window.taps = product(window.kernel);
  return window;
}

// Calls f(position, tap, offset into a plane of x, or -1 in the padding).
template <class F>
void for_each_tap(const Window& w, F&& f) {
  int64_t position = 0;
  for (int64_t z = 0; z < w.out[0]; ++z)
    for (int64_t y = 0; y < w.out[1]; ++y)
      for (int64_t x = 0; x < w.out[2]; ++x, ++position) {
        int64_t tap = 0;
        for (int64_t kz = 0; kz < w.kernel[0]; ++kz)
          for (int64_t ky = 0; ky < w.kernel[1]; ++ky)
            for (int64_t kx = 0; kx < w.kernel[2]; ++kx, ++tap) {
              const int64_t iz = z * w.stride[0] - w.padding[0] + kz * w.dilation[0],
                            iy = y * w.stride[1] - w.padding[1] + ky * w.dilation[1],
                            ix = x * w.stride[2] - w.padding[2] + kx * w.dilation[2];
              const bool inside =
                  iz >= 0 && iz < w.in[0] && iy >= 0 && iy < w.in[1] && ix >= 0 && ix < w.in[2];
              f(position, tap, inside ? (iz * w.in[1] + iy) * w.in[2] + ix : int64_t{-1});
            }
      }
}

// x's windows as rows [positions][channels][taps], of one group.
void gather(const Window& window, const std::vector<int64_t>& offsets, const int8_t* x, int8_t zero,
            int8_t* rows) {
  const int64_t positions = product(window.out), plane = product(window.in);
  for (int64_t position = 0; position < positions; ++position) {
    const int64_t* const taps = offsets.data() + position * window.taps;
    for (int64_t channel = 0; channel < window.channels; ++channel)
      for (int64_t tap = 0; tap < window.taps; ++tap)
        *rows++ = taps[tap] < 0 ? zero : x[channel * plane + taps[tap]];
  }
}

}  // namespace

Tensor affine_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const AffineFinish& finish) {
  check_operands(x, weight);
  if (x.dim() < 1 || weight.dim() != 2 || x.size(-1) != weight.size(1))
    fail("expected x [..., k] and weight [n, k]", x, weight);
  const int64_t n = weight.size(0), k = weight.size(1), m = k == 0 ? 0 : x.numel() / k;
  const Scales scales(x, weight, bias, n, finish);
  Shape shape = x.shape();
  shape.back() = n;
  const Tensor result = empty_result(shape, contiguous_strides(shape), finish);
  if (result.numel() == 0 || m == 0) return result;
  const Signed integers = signed_integers(x);
  const Tensor rows = as_integers(weight).contiguous();
  std::vector<int32_t> sums(static_cast<size_t>(m * n));
  multiply(integers.integers.data_as<int8_t>(), m, integers.zero, rows.data_as<int8_t>(), n, k, scales, 0,
           sums.data());
  visit_result(result, [&](auto* to) {
    for (int64_t i = 0; i < m; ++i) scales.finish(sums.data() + i * n, n, 0, to + i * n);
  });
  return result;
}

Tensor affine_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const AffineConv& conv,
                   const AffineFinish& finish) {
  check_operands(x, weight);
  if ((x.dim() != 4 && x.dim() != 5) || weight.dim() != x.dim() || conv.groups < 1 ||
      x.size(1) != weight.size(1) * conv.groups || weight.size(0) % conv.groups != 0)
    fail("expected x [batch, channels, …] and weight [outputs, channels / groups, …]", x, weight);
  const Window window = window_of(x, weight, conv);
  const int64_t outputs = weight.size(0), own = outputs / conv.groups, depth = window.channels * window.taps;
  const int64_t positions = product(window.out), plane = product(window.in);
  const Scales scales(x, weight, bias, outputs, finish);
  Shape shape = x.shape();
  shape[1] = outputs;
  for (size_t d = 2; d < shape.size(); ++d) shape[d] = window.out[d + 3 - shape.size()];
  const Tensor result = empty_result(shape, channels_last_strides(shape), finish);
  if (result.numel() == 0) return result;
  const Signed integers = signed_integers(x);
  const Tensor rows_of_weight = as_integers(weight).contiguous();
  std::vector<int64_t> offsets(static_cast<size_t>(positions * window.taps));
  for_each_tap(window, [&](int64_t position, int64_t tap, int64_t offset) {
    offsets[static_cast<size_t>(position * window.taps + tap)] = offset;
  });
  std::vector<int8_t> rows(static_cast<size_t>(positions * depth));
  std::vector<int32_t> sums(static_cast<size_t>(positions * own));
  for (int64_t image = 0; image < x.size(0); ++image) {
    for (int64_t group = 0; group < conv.groups; ++group) {
      const int8_t* const from =
          integers.integers.data_as<int8_t>() + (image * conv.groups + group) * window.channels * plane;
      gather(window, offsets, from, static_cast<int8_t>(integers.zero), rows.data());
      multiply(rows.data(), positions, integers.zero, rows_of_weight.data_as<int8_t>() + group * own * depth,
               own, depth, scales, group * own, sums.data());
      visit_result(result, [&](auto* to) {
        for (int64_t i = 0; i < positions; ++i)
          scales.finish(sums.data() + i * own, own, group * own,
                        to + (image * positions + i) * outputs + group * own);
      });
    }
  }
  return result;
}

Tensor affine_conv_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const AffineConv& conv, const std::vector<int64_t>& output_padding,
                              const AffineFinish& finish) {
  check_operands(x, weight);
  if ((x.dim() != 4 && x.dim() != 5) || weight.dim() != x.dim() || conv.groups < 1 ||
      x.size(1) != weight.size(0) || weight.size(0) % conv.groups != 0)
    fail("expected x [batch, channels, …] and weight [channels, outputs / groups, …]", x, weight);
  const auto spatial = static_cast<size_t>(x.dim()) - 2;
  // x among its zero points.
  Shape spread = x.shape();
  AffineConv plain{Shape(spatial, 1), Shape(spatial, 0), conv.dilation, conv.groups};
  Shape first(spatial);
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t reach = conv.dilation.at(d) * (weight.shape()[d + 2] - 1),
                  before = reach - conv.padding.at(d);
    first[d] = before;
    spread[d + 2] = (x.shape()[d + 2] - 1) * conv.stride.at(d) + 1 + 2 * before + output_padding.at(d);
    if (spread[d + 2] < reach + 1) fail("the result would be empty", x, weight);
  }
  const Tensor integers = as_integers(x).contiguous();
  const auto zero = static_cast<int64_t>(x.quantizer()->zero_points[0]);
  const Tensor among = Tensor::full(spread, Scalar(zero), integers.dtype());
  const int64_t planes = x.size(0) * x.size(1);
  const int64_t from_plane = planes == 0 ? 0 : x.numel() / planes,
                to_plane = planes == 0 ? 0 : among.numel() / planes;
  for (int64_t i = 0; i < from_plane; ++i) {
    int64_t rest = i, at = 0, step = 1;
    bool inside = true;
    for (size_t d = spatial; d-- > 0;) {
      const int64_t place = first[d] + rest % x.shape()[d + 2] * conv.stride.at(d);
      rest /= x.shape()[d + 2];
      inside &= place >= 0 && place < spread[d + 2];
      at += place * step;
      step *= spread[d + 2];
    }
    if (!inside) continue;  // cut off by the padding
    for (int64_t plane = 0; plane < planes; ++plane)
      among.data_as<char>()[plane * to_plane + at] = integers.data_as<char>()[plane * from_plane + i];
  }
  // The kernel turned round, its inputs and outputs exchanged within each group.
  const Tensor kernel = as_integers(weight).contiguous();
  const int64_t inputs = weight.size(0), own = weight.size(1), group_inputs = inputs / conv.groups;
  Shape turned_shape = weight.shape();
  turned_shape[0] = own * conv.groups;
  turned_shape[1] = group_inputs;
  const Tensor turned = Tensor::empty(turned_shape, DType::I8);
  const int64_t taps = inputs * own == 0 ? 0 : weight.numel() / (inputs * own);
  for (int64_t input = 0; input < inputs; ++input)
    for (int64_t output = 0; output < own; ++output)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t row = input / group_inputs * own + output;
        turned.data_as<int8_t>()[(row * group_inputs + input % group_inputs) * taps + (taps - 1 - tap)] =
            kernel.data_as<int8_t>()[(input * own + output) * taps + tap];
      }
  return affine_conv(of_integers(among, x.dtype(), x.quantizer()),
                     of_integers(turned, DType::QI8, weight.quantizer()), bias, plain, finish);
}

// ---- scales of inputs ------------------------------------------------------------------------------------
Tensor quantize_dynamic(const Tensor& x, DType dtype, bool reduce_range) {
  const Tensor numbers = x.to(DType::F32).contiguous();
  float least = 0, most = 0;
  const auto* const data = numbers.data_as<float>();
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    least = std::min(least, data[i]);
    most = std::max(most, data[i]);
  }
  QuantizedRange range = range_of(dtype);
  if (reduce_range) range = {range.low / 2, range.high / 2};
  const auto low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  double scale = (static_cast<double>(most) - static_cast<double>(least)) / (high - low);
  if (static_cast<float>(scale) == 0.0F || std::isinf(1.0F / static_cast<float>(scale))) scale = 0.1;
  constexpr float kSmallest = 6.1e-5F;  // smaller scales are made this one, and the range with it
  if (scale < static_cast<double>(kSmallest)) {
    const auto original = static_cast<float>(scale);
    scale = static_cast<double>(kSmallest);
    if (least == 0.0F) {
      most = static_cast<float>(static_cast<double>(kSmallest) * (high - low));
    } else if (most == 0.0F) {
      least = static_cast<float>(-static_cast<double>(kSmallest) * (high - low));
    } else {
      const float amplifier = kSmallest / original;
      least *= amplifier;
      most *= amplifier;
    }
  }
  // Of the two zero points that the ends give, the one with the smaller error; it is then made an integer.
  const double from_least = low - static_cast<double>(least) / scale,
               from_most = high - static_cast<double>(most) / scale;
  const double least_error = std::abs(low) - std::abs(static_cast<double>(least) / scale);
  const double most_error = std::abs(high) - std::abs(static_cast<double>(most) / scale);
  const double zero = least_error < most_error ? from_least : from_most;
  const int64_t zero_point = zero < low    ? range.low
                             : zero > high ? range.high
                                           : static_cast<int64_t>(std::nearbyint(zero));
  return quantize(numbers, dtype, per_tensor(scale, zero_point));
}

}  // namespace weft::ops
