// quantized_decomposed: numbers that are quantized in plain tensors of integers, as PyTorch's exported
// programs have them.
#include <fmt/format.h>

#include "script/builtins/aten.h"
#include "weft/error.h"

namespace weft::jit::aten {
namespace {

Tensor need_float32(const char* what, const Tensor& x) {
  const Tensor wide = x.dtype() == DType::F16 || x.dtype() == DType::BF16 ? cast(x, DType::F32) : x;
  WEFT_CHECK_TYPE(
      wide.dtype() == DType::F32,
      fmt::format("{}: expected an input of float32, float16 or bfloat16, got {}", what, describe(x)));
  return wide;
}

void need_dtype(const char* what, const Tensor& x, DType dtype) {
  WEFT_CHECK_TYPE(x.dtype() == dtype,
                  fmt::format("{}: expected an input of {}, got {}", what, name(dtype), describe(x)));
}

// clamp(round(x * inverse) + zero point)
Tensor rounded_to(const Tensor& x, const Operand& inverse, const Operand& zero_point, int64_t least,
                  int64_t most, DType dtype) {
  const Tensor rounded = add(call(op<"round">(), {mul(x, inverse)}), zero_point);
  return cast(promoted(op<"clip">(), {rounded, Scalar(least), Scalar(most)}), dtype);
}

Tensor quantized_per_tensor(const Tensor& x, double scale, int64_t zero_point, int64_t least, int64_t most,
                            DType dtype) {
  const Tensor wide = need_float32("quantized_decomposed::quantize_per_tensor", x);
  return rounded_to(wide, Scalar(1.0 / scale), Scalar(zero_point), least, most, dtype);
}

Tensor dequantized_per_tensor(const Tensor& x, double scale, int64_t zero_point, DType dtype,
                              OptionalDType wanted) {
  need_dtype("quantized_decomposed::dequantize_per_tensor", x, dtype);
  return mul(promoted(op<"sub">(), {cast(x, wanted.value_or(DType::F32)), Scalar(zero_point)}),
             Scalar(scale));
}

// Scales and zero points beside the elements of an axis.
Tensor along_axis(const char* what, const Tensor& of, int64_t axis, const Tensor& x) {
  Ints shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(wrap_dim(what, axis, x.dim()))] = -1;
  return call(op<"reshape">(), {of}, {{"shape", sizes(shape)}});
}

Tensor quantized_by_axis(const Tensor& x, const Tensor& scales, const Tensor& zero_points, int64_t axis,
                         int64_t least, int64_t most, DType dtype) {
  const char* const what = "quantized_decomposed::quantize_per_channel";
  const Tensor inverse = promoted(op<"reciprocal">(), {along_axis(what, scales, axis, x)});
  return rounded_to(need_float32(what, x), inverse, along_axis(what, zero_points, axis, x), least, most,
                    dtype);
}

Tensor dequantized_by_axis(const Tensor& x, const Tensor& scales, const OptionalTensor& zero_points,
                           int64_t axis, DType dtype, OptionalDType wanted) {
  const char* const what = "quantized_decomposed::dequantize_per_channel";
  need_dtype(what, x, dtype);
  const Tensor moved = zero_points ? promoted(op<"sub">(), {x, along_axis(what, *zero_points, axis, x)}) : x;
  return cast(mul(moved, along_axis(what, scales, axis, x)), wanted.value_or(DType::F32));
}

[[maybe_unused]] const bool kDecomposed = [] {
  builtin(
      "quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, "
      "int quant_max, "
      "ScalarType dtype) -> Tensor",
      [](const Tensor& x, double scale, int64_t zero_point, int64_t least, int64_t most, DType dtype) {
        return quantized_per_tensor(x, scale, zero_point, least, most, dtype);
      });
  builtin(
      "quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
      "quant_min, int "
      "quant_max, ScalarType dtype) -> "
      "Tensor",
      [](const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t least, int64_t most,
         DType dtype) {
        return quantized_per_tensor(x, scale.item().to_double(), zero_point.item().to_int(), least, most,
                                    dtype);
      },
      false);
  builtin(
      "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, "
      "int quant_max, "
      "ScalarType dtype, *, "
      "ScalarType? out_dtype=None) -> Tensor",
      [](const Tensor& x, double scale, int64_t zero_point, int64_t, int64_t, DType dtype,
         OptionalDType wanted) { return dequantized_per_tensor(x, scale, zero_point, dtype, wanted); });
  builtin(
      "quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
      "quant_min, int "
      "quant_max, ScalarType dtype, *, "
      "ScalarType? out_dtype=None) -> Tensor",
      [](const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t, int64_t, DType dtype,
         OptionalDType wanted) {
        return dequantized_per_tensor(x, scale.item().to_double(), zero_point.item().to_int(), dtype, wanted);
      },
      false);
  builtin(
      "quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, "
      "int quant_min, int "
      "quant_max, ScalarType dtype) "
      "-> Tensor",
      [](const Tensor& x, const Tensor& scales, const Tensor& zero_points, int64_t axis, int64_t least,
         int64_t most,
         DType dtype) { return quantized_by_axis(x, scales, zero_points, axis, least, most, dtype); });
  builtin(
      "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int "
      "axis, int quant_min, int "
      "quant_max, ScalarType "
      "dtype, *, ScalarType? out_dtype=None) -> Tensor",
      [](const Tensor& x, const Tensor& scales, const OptionalTensor& zero_points, int64_t axis, int64_t,
         int64_t, DType dtype,
         OptionalDType wanted) { return dequantized_by_axis(x, scales, zero_points, axis, dtype, wanted); });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
