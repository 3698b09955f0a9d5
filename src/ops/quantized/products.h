// Products of quantized tensors: exact sums of integers in int32, which are then rounded to the result's
// scale, or turned into numbers.
//
// source: the arithmetic of FBGEMM's outputs. With scales s_x, s_w[n] and s_y, m = s_x * s_w in float32:
//   rounded: clamp(round((sum + bias / m) * (m / s_y)) + zero point)      numbers: sum * m + bias
#pragma once

#include <memory>
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

// A layer whose weights are packed: they never change, and any thread may multiply with them.
class AffineProduct {
 public:
  virtual ~AffineProduct() = default;
  // x QU8 or QI8; bias F32, one for each output, or undefined.
  virtual Tensor operator()(const Tensor& x, const Tensor& bias, const AffineFinish& finish) const = 0;
};

// weight QI8 [n, k] by one scale or one for each n; x [..., k].
std::shared_ptr<const AffineProduct> pack_affine_linear(const Tensor& weight);

struct ConvSizes {
  std::vector<int64_t> stride, padding, output_padding, dilation;
  int64_t groups = 1;
  bool is_transposed = false;
};
// weight QI8 [outputs, channels / groups, …], transposed [channels, outputs / groups, …]; x [batch, channels,
// …] of two or three spatial dimensions.
std::shared_ptr<const AffineProduct> pack_affine_conv(const Tensor& weight, const ConvSizes& sizes);

// a + b, rounded: both QU8 or QI8, of one shape, and dense in one order of the dimensions. Undefined where
// they are not.
Tensor add_affine(const Tensor& a, const Tensor& b, const RoundedTo& to, bool relu);

// The scale and zero point that PyTorch chooses for numbers between these: both ends moved to hold zero.
Tensor quantize_dynamic(const Tensor& x, DType dtype, bool reduce_range);

}  // namespace weft::ops
