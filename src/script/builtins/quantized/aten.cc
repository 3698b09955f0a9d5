// Quantized tensors: made, taken apart, and asked for their scales.
#include "script/builtins/aten.h"

#include <fmt/format.h>

#include "core/quantized.h"
#include "ops/quantized/products.h"
#include "weft/error.h"

namespace weft::jit::aten {
namespace {

// PyTorch's numbers of schemes.
constexpr int64_t kPerTensor = 0, kPerChannel = 1, kPerChannelFloat = 4;

const Quantizer& quantizer_of(const char* what, const Tensor& x) {
  if (!is_quantized(x.dtype()) || !x.quantizer())
    throw_error(ErrorKind::Runtime,
                fmt::format("{}: expected a quantized tensor, got {}", what, describe(x)));
  return *x.quantizer();
}

const Quantizer& per_tensor_of(const char* what, const Tensor& x) {
  const Quantizer& quantizer = quantizer_of(what, x);
  if (quantizer.is_per_channel())
    throw_error(ErrorKind::Runtime,
                fmt::format("{}: Expected quantizer->qscheme() == kPerTensorAffine", what));
  return quantizer;
}

const Quantizer& per_channel_of(const char* what, const Tensor& x) {
  const Quantizer& quantizer = quantizer_of(what, x);
  if (!quantizer.is_per_channel())
    throw_error(ErrorKind::Runtime,
                fmt::format("{}: Expected quantizer->qscheme() == kPerChannelAffine", what));
  return quantizer;
}

int64_t integer_of(const Tensor& x) { return x.item().to_int(); }

int64_t axis_of(const char* what, int64_t axis, const Tensor& x) { return wrap_dim(what, axis, x.dim()); }

Tensor dequantized(const Tensor& x) { return is_quantized(x.dtype()) ? dequantize(x) : cast(x, DType::F32); }

IValue dequantize_all(const IValue& value) {
  if (value.is_tensor()) return dequantized(value.to_tensor());
  if (!value.is_list() && !value.is(IValue::Tag::Tuple)) return value;
  std::vector<IValue> elements;
  for (const IValue& element : value.elements()) elements.push_back(dequantize_all(element));
  if (value.is_list()) return IValue::list(value.to_list()->element, std::move(elements));
  return IValue::tuple(std::move(elements));
}

// ---- rounded, and numbers again --------------------------------------------------------------------------
// (clamp(round(x / scale) + zero point) - zero point) * scale
Tensor fake_quantized(const Tensor& x, const Operand& inverse, const Operand& scale,
                      const Operand& zero_point, int64_t least, int64_t most) {
  WEFT_CHECK(least <= most, "`quant_min` should be less than or equal to `quant_max`.");
  const Tensor rounded = add(call(op<"round">(), {mul(x, inverse)}), zero_point);
  const Tensor limited = promoted(op<"clip">(), {rounded, Scalar(least), Scalar(most)});
  return mul(promoted(op<"sub">(), {limited, zero_point}), scale);
}

Tensor fake_quantized(const Tensor& x, double scale, int64_t zero_point, int64_t least, int64_t most) {
  WEFT_CHECK(zero_point >= least && zero_point <= most,
             "`zero_point` must be between `quant_min` and `quant_max`.");
  const auto number = static_cast<float>(scale);
  return fake_quantized(x, Scalar(double{1.0F / number}), Scalar(double{number}), Scalar(zero_point), least,
                        most);
}

Tensor fake_quantized_by_channel(const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t axis,
                                 int64_t least, int64_t most) {
  Ints shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(axis_of("fake_quantize_per_channel_affine", axis, x))] = -1;
  const auto along = [&](const Tensor& of) { return call(op<"reshape">(), {of}, {{"shape", sizes(shape)}}); };
  const Tensor number = along(cast(scale, DType::F32));
  return fake_quantized(x, promoted(op<"reciprocal">(), {number}), number,
                        along(cast(zero_point, DType::F32)), least, most);
}

[[maybe_unused]] const bool kQuantized = [] {
  define(
      "quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor",
      [](const Tensor& x, double scale, int64_t zero_point, DType dtype) {
        return quantize(x, dtype, per_tensor(scale, zero_point));
      },
      false);
  define(
      "quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) -> "
      "Tensor",
      [](const Tensor& x, const Tensor& scale, const Tensor& zero_point, DType dtype) {
        return quantize(x, dtype, per_tensor(scale.item().to_double(), integer_of(zero_point)));
      },
      false);
  define(
      "quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype) -> "
      "Tensor[]",
      [](const Tensors& tensors, const Tensor& scales, const Tensor& zero_points, DType dtype) {
        Tensors results;
        for (size_t i = 0; i < tensors.size(); ++i) {
          const auto at = static_cast<int64_t>(i);
          results.push_back(quantize(tensors[i], dtype,
                                     per_tensor(scales.at(at), static_cast<int64_t>(zero_points.at(at)))));
        }
        return results;
      },
      false);
  define(
      "quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor",
      [](const Tensor& x, DType dtype, bool reduce_range) {
        return ops::quantize_dynamic(x, dtype, reduce_range);
      },
      false);
  define(
      "quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> "
      "Tensor",
      [](const Tensor& x, const Tensor& scales, const Tensor& zero_points, int64_t axis, DType dtype) {
        return quantize(x, dtype, per_channel(scales, zero_points, axis_of("quantize_per_channel", axis, x)));
      },
      false);
  define("dequantize.self(Tensor self) -> Tensor", [](const Tensor& x) { return dequantized(x); }, false);
  define(
      "dequantize.tensors(Tensor[] tensors) -> Tensor[]",
      [](const Tensors& tensors) {
        Tensors results;
        for (const Tensor& x : tensors) results.push_back(dequantized(x));
        return results;
      },
      false);
  define(
      "dequantize.any(Any tensors) -> Any", [](const IValue& value) { return dequantize_all(value); }, false);
  define(
      "int_repr(Tensor self) -> Tensor",
      [](const Tensor& x) {
        quantizer_of("int_repr", x);
        if (x.dtype() == DType::QU4x2) return pack_nibbles(as_integers(x));
        return as_integers(x).clone();
      },
      false);
  define(
      "_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor",
      [](const Tensor& x, double scale, int64_t zero_point) {
        const DType dtype = x.dtype() == DType::I8    ? DType::QI8
                            : x.dtype() == DType::I32 ? DType::QI32
                                                      : DType::QU8;
        WEFT_CHECK_TYPE(
            dtype != DType::QU8 || x.dtype() == DType::U8,
            "_make_per_tensor_quantized_tensor: expected int8, uint8 or int32, got " + describe(x));
        return of_integers(x.clone(), dtype, per_tensor(scale, zero_point));
      },
      false);
  define(
      "_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int axis) -> Tensor",
      [](const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t axis) {
        const DType dtype = x.dtype() == DType::I8    ? DType::QI8
                            : x.dtype() == DType::I32 ? DType::QI32
                                                      : DType::QU8;
        WEFT_CHECK_TYPE(
            dtype != DType::QU8 || x.dtype() == DType::U8,
            "_make_per_channel_quantized_tensor: expected int8, uint8 or int32, got " + describe(x));
        auto quantizer =
            per_channel(scale, zero_point, axis_of("_make_per_channel_quantized_tensor", axis, x));
        check_quantizer(*quantizer, dtype, x.shape());
        return of_integers(x.clone(), dtype, std::move(quantizer));
      },
      false);
  define(
      "_empty_affine_quantized(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
      "device=None, bool? "
      "pin_memory=None, float scale=1., int zero_point=0, MemoryFormat? memory_format=0) -> Tensor",
      [](const Ints& size, OptionalDType dtype, OptionalInt, OptionalDevice, std::optional<bool>,
         double scale, int64_t zero_point, OptionalInt) {
        auto quantizer = per_tensor(scale, zero_point);
        check_quantizer(*quantizer, dtype.value_or(DType::F32), size);
        const DType integers = *dtype == DType::QI8    ? DType::I8
                               : *dtype == DType::QI32 ? DType::I32
                                                       : DType::U8;
        return of_integers(Tensor::full(size, Scalar(int64_t{0}), integers), *dtype, std::move(quantizer));
      },
      false);
  return true;
}();

[[maybe_unused]] const bool kScales = [] {
  define(
      "q_scale(Tensor self) -> float", [](const Tensor& x) { return per_tensor_of("q_scale", x).scales[0]; },
      false);
  define(
      "q_zero_point(Tensor self) -> int",
      [](const Tensor& x) { return static_cast<int64_t>(per_tensor_of("q_zero_point", x).zero_points[0]); },
      false);
  define(
      "q_per_channel_scales(Tensor self) -> Tensor",
      [](const Tensor& x) { return tensors_of(per_channel_of("q_per_channel_scales", x)).scales; }, false);
  define(
      "q_per_channel_zero_points(Tensor self) -> Tensor",
      [](const Tensor& x) { return tensors_of(per_channel_of("q_per_channel_zero_points", x)).zero_points; },
      false);
  define(
      "q_per_channel_axis(Tensor self) -> int",
      [](const Tensor& x) { return per_channel_of("q_per_channel_axis", x).axis; }, false);
  define(
      "qscheme(Tensor self) -> QScheme",
      [](const Tensor& x) {
        const Quantizer& quantizer = quantizer_of("qscheme", x);
        return !quantizer.is_per_channel() ? kPerTensor : quantizer.is_float ? kPerChannelFloat : kPerChannel;
      },
      false);
  return true;
}();

[[maybe_unused]] const bool kFake = [] {
  define(
      "fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int "
      "quant_max) -> Tensor",
      [](const Tensor& x, double scale, int64_t zero_point, int64_t least, int64_t most) {
        return fake_quantized(x, scale, zero_point, least, most);
      });
  define(
      "fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int "
      "quant_min, int "
      "quant_max) -> Tensor",
      [](const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t least, int64_t most) {
        return fake_quantized(x, scale.item().to_double(), integer_of(zero_point), least, most);
      },
      false);
  define(
      "fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int "
      "quant_min, int "
      "quant_max) -> Tensor",
      [](const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t axis, int64_t least,
         int64_t most) { return fake_quantized_by_channel(x, scale, zero_point, axis, least, most); });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
