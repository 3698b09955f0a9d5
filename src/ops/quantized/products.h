// Products of quantized tensors: exact sums of integers in int32, which are then rounded to the result's
// scale, or turned into numbers.
//
// source: the arithmetic of FBGEMM's outputs. With scales s_x, s_w[n] and s_y, m = s_x * s_w in float32:
//   rounded: clamp(round((sum + bias / m) * (m / s_y)) + zero point)      numbers: sum * m + bias
#pragma once

#include <optional>
#include <vector>

#include "weft/tensor.h"

namespace weft::ops {

// The scale and zero point of a rounded result; the smallest number is zero where `relu`.
struct RoundedTo {
  double scale;
  int64_t zero_point;
  DType dtype = DType::QU8;
};

struct AffineFinish {
  std::optional<RoundedTo> rounded;  // otherwise the result is F32
  bool relu = false;
};

// x QU8 or QI8 [..., k], weight QI8 [n, k] by one scale or one for each n; bias F32 [n] or undefined.
Tensor affine_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const AffineFinish& finish);

struct AffineConv {
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
};
// x [batch, channels, …] of two or three spatial dimensions, weight QI8 [outputs, channels / groups, …].
Tensor affine_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const AffineConv& conv,
                   const AffineFinish& finish);

// A transposed convolution as a plain one: weight [inputs, outputs / groups, …], x spread out by the stride,
// with zeros of its zero point between its elements and around them.
Tensor affine_conv_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const AffineConv& conv, const std::vector<int64_t>& output_padding,
                              const AffineFinish& finish);

// The scale and zero point that PyTorch chooses for numbers between these: both ends moved to hold zero.
Tensor quantize_dynamic(const Tensor& x, DType dtype, bool reduce_range);

}  // namespace weft::ops
