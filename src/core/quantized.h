// Tensors of quantized dtypes: integers, and the Quantizer that says what they stand for.
//
// The arithmetic is that of PyTorch on processors: float32 throughout, halves rounded to even.
#pragma once

#include <memory>
#include <string_view>

#include "weft/tensor.h"

namespace weft {

// The smallest and the largest integer.
struct QuantizedRange {
  int64_t low, high;
};
QuantizedRange range_of(DType dtype);

std::shared_ptr<const Quantizer> per_tensor(double scale, int64_t zero_point);
// scales and zero points: one for each index of dimension `axis`. Floating zero points are any numbers.
std::shared_ptr<const Quantizer> per_channel(const Tensor& scales, const Tensor& zero_points, int64_t axis);
// ValueError where the scales and zero points do not fit each other, the dtype's range, or dimension `axis`
// of the shape.
void check_quantizer(const Quantizer& quantizer, DType dtype, const Shape& shape);
// "per_tensor_affine", "per_channel_affine", "per_channel_affine_float_qparams"
std::string_view scheme_name(const Quantizer& quantizer);
// As PyTorch's q_per_channel_scales and q_per_channel_zero_points: F64 and I64, or F32 both.
struct QuantizerTensors {
  Tensor scales, zero_points;
};
QuantizerTensors tensors_of(const Quantizer& quantizer);

// scale * (q - zero_point), F32, which lies as x does. Fused: as PyTorch computes it within sums and
// activations, where two vectors of 512 bits fit, scale * q + (-scale * zero_point), of which the second
// product is rounded and the sum once.
Tensor dequantize(const Tensor& x);
Tensor dequantize_fused(const Tensor& x);
int64_t count_in_fused_vectors(int64_t count);  // of so many elements in memory
// round(x / scale) + zero_point, clamped; x is F32, and the result lies as it does.
Tensor quantize(const Tensor& x, DType dtype, std::shared_ptr<const Quantizer> quantizer);

// The same memory as U8, I8 or I32, and back. The quantizer is not checked.
Tensor as_integers(const Tensor& x);
Tensor of_integers(const Tensor& integers, DType dtype, std::shared_ptr<const Quantizer> quantizer);

// Numbers of four bits, two in a byte, the first in the low half: PyTorch's storage of QU4x2.
Tensor unpack_nibbles(const Tensor& bytes);  // U8 [n] to U8 [2n]
Tensor pack_nibbles(const Tensor& x);        // U8 to U8 [ceil(n / 2)], in C order

// RuntimeError: the integers are not made numbers by a conversion of dtypes.
[[noreturn]] void refuse_conversion();
// Do the elements lie side by side, in whatever order of the dimensions? And a new tensor that lies as such a
// one does, or in C order.
bool is_dense(const Tensor& x);
Tensor empty_as(const Tensor& x, DType dtype);
// x where it is dense, else a copy that is.
Tensor dense(const Tensor& x);

// NotImplementedError: where every channel has a scale, dimensions stay where they are.
void check_keeps_dimensions(std::string_view what, const Tensor& x);

}  // namespace weft
