// Linear layers and convolutions of quantized modules: weights are packed into objects, which the products
// take.
#include <fmt/format.h>

#include "core/quantized.h"
#include "ops/quantized/products.h"
#include "script/builtins/aten.h"
#include "script/builtins/quantized/packed_classes.h"
#include "weft/error.h"

namespace weft::jit::aten {
namespace {

using ops::AffineFinish;
using packed::ConvParams;
using packed::LinearParams;

// ---- linear ----------------------------------------------------------------------------------------------
IValue prepack_linear(const Tensor& weight, const OptionalTensor& bias) {
  WEFT_CHECK_TYPE(weight.dim() == 2 && weight.dtype() == DType::QI8,
                  "quantized::linear_prepack: expected a qint8 weight [n, k], got " + describe(weight));
  return packed::make_linear({weight, or_undefined(bias)});
}

// The numbers that float16 has.
IValue prepack_linear_fp16(const Tensor& weight, const OptionalTensor& bias) {
  WEFT_CHECK_TYPE(
      weight.dim() == 2 && weight.dtype() == DType::F32,
      "quantized::linear_prepack_fp16: expected a float32 weight [n, k], got " + describe(weight));
  const float most = 65504;
  const Tensor limited = promoted(op<"clip">(), {weight, Scalar(double{-most}), Scalar(double{most})});
  return packed::make_linear({cast(cast(limited, DType::F16), DType::F32), or_undefined(bias)});
}

template <bool kRelu>
Tensor linear_quantized(const Tensor& x, const IValue& object, double scale, int64_t zero_point) {
  return packed::product_of(object)(x, packed::bias_of(object),
                                    {ops::RoundedTo{scale, zero_point, x.dtype()}, kRelu});
}

Tensor linear_fp16(const Tensor& x, const LinearParams& params) {
  return call(op<"linear">(), {cast(x, DType::F32), params.weight, params.bias});
}

template <bool kRelu>
Tensor linear_dynamic(const Tensor& x, const IValue& object, bool reduce_range) {
  WEFT_CHECK_TYPE(x.dtype() == DType::F32, "quantized::linear_dynamic: expected float32, got " + describe(x));
  return packed::product_of(object)(ops::quantize_dynamic(x, DType::QU8, reduce_range),
                                    packed::bias_of(object), {std::nullopt, kRelu});
}

template <bool kRelu>
Tensor linear_dynamic_fp16(const Tensor& x, const IValue& object) {
  const Tensor y = linear_fp16(x, packed::linear_params(object));
  return kRelu ? call(op<"relu">(), {y}) : y;
}

[[maybe_unused]] const bool kLinear = [] {
#define WEFT_LINEAR "__torch__.torch.classes.quantized.LinearPackedParamsBase"
  builtin(
      "quantized::linear_prepack(Tensor W, Tensor? B=None) -> " WEFT_LINEAR " W_prepack",
      [](const Tensor& w, const OptionalTensor& b) { return prepack_linear(w, b); }, false);
  builtin(
      "quantized::linear_prepack_fp16(Tensor W, Tensor? B=None) -> " WEFT_LINEAR " W_prepack",
      [](const Tensor& w, const OptionalTensor& b) { return prepack_linear_fp16(w, b); }, false);
  for (const char* schema :
       {"quantized::linear_unpack(" WEFT_LINEAR " W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
        "quantized::linear_unpack_fp16(" WEFT_LINEAR " W_prepack) -> (Tensor W_origin, Tensor? B_origin)"})
    builtin(
        schema,
        [](const IValue& object) {
          const LinearParams params = packed::linear_params(object);
          return std::tuple(IValue(packed::copy_weight(params.weight)),
                            params.bias.defined() ? IValue(params.bias) : IValue());
        },
        false);
  builtin(
      "quantized::linear(Tensor X, " WEFT_LINEAR
      " W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y",
      [](const Tensor& x, const IValue& w, double s, int64_t z) {
        return linear_quantized<false>(x, w, s, z);
      },
      false);
  builtin(
      "quantized::linear_relu(Tensor X, " WEFT_LINEAR
      " W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y",
      [](const Tensor& x, const IValue& w, double s, int64_t z) {
        return linear_quantized<true>(x, w, s, z);
      },
      false);
  builtin(
      "quantized::linear_dynamic(Tensor X, " WEFT_LINEAR " W_prepack, bool reduce_range=False) -> Tensor Y",
      [](const Tensor& x, const IValue& w, bool r) { return linear_dynamic<false>(x, w, r); }, false);
  builtin(
      "quantized::linear_relu_dynamic(Tensor X, " WEFT_LINEAR
      " W_prepack, bool reduce_range=False) -> Tensor Y",
      [](const Tensor& x, const IValue& w, bool r) { return linear_dynamic<true>(x, w, r); }, false);
  builtin(
      "quantized::linear_dynamic_fp16(Tensor X, " WEFT_LINEAR " W_prepack) -> Tensor Y",
      [](const Tensor& x, const IValue& w) { return linear_dynamic_fp16<false>(x, w); }, false);
  builtin(
      "quantized::linear_relu_dynamic_fp16(Tensor X, " WEFT_LINEAR " W_prepack) -> Tensor Y",
      [](const Tensor& x, const IValue& w) { return linear_dynamic_fp16<true>(x, w); }, false);
  return true;
}();

// ---- convolutions ----------------------------------------------------------------------------------------
// With a first spatial dimension of size 1.
Tensor with_row(const Tensor& x) { return call(op<"unsqueeze">(), {x}, {{"dim", sizes(Ints{2})}}); }
Tensor without_row(const Tensor& x) { return call(op<"squeeze">(), {x}, {{"dim", sizes(Ints{2})}}); }

// Of one spatial dimension: its weight is per channel, too, and has the row put in as it lies.
Tensor weight_with_row(const Tensor& weight) {
  Shape shape = weight.shape();
  shape.insert(shape.begin() + 2, 1);
  const Tensor integers = as_integers(weight).contiguous();
  return of_integers(
      Tensor(integers.storage(), integers.dtype(), shape, contiguous_strides(shape), integers.offset()),
      weight.dtype(), weight.quantizer());
}
Tensor weight_without_row(const Tensor& weight) {
  Shape shape = weight.shape();
  shape.erase(shape.begin() + 2);
  const Tensor integers = as_integers(weight).contiguous();
  return of_integers(
      Tensor(integers.storage(), integers.dtype(), shape, contiguous_strides(shape), integers.offset()),
      weight.dtype(), weight.quantizer());
}

IValue prepack_conv(size_t spatial, ConvParams params) {
  const Tensor& weight = params.weight;
  WEFT_CHECK_TYPE(static_cast<size_t>(weight.dim()) == spatial + 2 && weight.dtype() == DType::QI8,
                  fmt::format("quantized::conv_prepack: expected a qint8 weight of {} dimensions, got {}",
                              spatial + 2, describe(weight)));
  ops::ConvSizes& sizes = params.sizes;
  if (sizes.output_padding.empty()) sizes.output_padding.assign(spatial, 0);
  for (const Ints* each : {&sizes.stride, &sizes.padding, &sizes.dilation, &sizes.output_padding})
    WEFT_CHECK(
        each->size() == spatial,
        fmt::format("quantized::conv_prepack: expected {} numbers for stride, padding and dilation, got {}",
                    spatial, each->size()));
  if (spatial == 1) {
    params.weight = weight_with_row(weight);
    sizes.stride.insert(sizes.stride.begin(), 1);
    sizes.padding.insert(sizes.padding.begin(), 0);
    sizes.dilation.insert(sizes.dilation.begin(), 1);
    sizes.output_padding.insert(sizes.output_padding.begin(), 0);
  }
  return packed::make_conv(params);
}

// x with 1 spatial dimension, or as many as the weight has.
Tensor convolve(const Tensor& x, size_t spatial, const IValue& object, const AffineFinish& finish) {
  WEFT_CHECK(
      static_cast<size_t>(x.dim()) == spatial + 2,
      fmt::format("quantized::conv{}d: expected {} dimensions, got {}", spatial, spatial + 2, describe(x)));
  const ops::AffineProduct& product = packed::product_of(object);
  const Tensor bias = packed::bias_of(object);
  return spatial == 1 ? without_row(product(with_row(x), bias, finish)) : product(x, bias, finish);
}

template <size_t kSpatial, bool kRelu>
Tensor conv_quantized(const Tensor& x, const IValue& object, double scale, int64_t zero_point) {
  return convolve(x, kSpatial, object, {ops::RoundedTo{scale, zero_point, x.dtype()}, kRelu});
}

template <size_t kSpatial>
Tensor conv_dynamic(const Tensor& x, const IValue& object, bool reduce_range) {
  WEFT_CHECK_TYPE(x.dtype() == DType::F32, "quantized::conv_dynamic: expected float32, got " + describe(x));
  // The result is rounded to the input's scale.
  const Tensor q = ops::quantize_dynamic(x, DType::QU8, reduce_range);
  const ops::RoundedTo to{q.quantizer()->scales[0], static_cast<int64_t>(q.quantizer()->zero_points[0])};
  return dequantize(convolve(q, kSpatial, object, {to}));
}

template <size_t kSpatial>
void define_conv() {
  const std::string object =
      fmt::format("__torch__.torch.classes.quantized.Conv{}dPackedParamsBase", kSpatial == 3 ? 3 : 2);
  const auto schema = [&](const std::string& name, const std::string& rest) {
    return fmt::format("quantized::{}({}", fmt::format(fmt::runtime(name), kSpatial), rest);
  };
  const std::string products =
      "Tensor qx, " + object + " packed_weight, float output_scale, int output_zero_point) -> Tensor";
  const char* const plain = kSpatial == 1 ? "conv{}d" : "conv{}d.new";
  builtin(
      schema(plain, products),
      [](const Tensor& x, const IValue& w, double s, int64_t z) {
        return conv_quantized<kSpatial, false>(x, w, s, z);
      },
      false);
  builtin(
      schema(kSpatial == 1 ? "conv{}d_relu" : "conv{}d_relu.new", products),
      [](const Tensor& x, const IValue& w, double s, int64_t z) {
        return conv_quantized<kSpatial, true>(x, w, s, z);
      },
      false);
  builtin(
      schema("conv_transpose{}d", products),
      [](const Tensor& x, const IValue& w, double s, int64_t z) {
        return conv_quantized<kSpatial, false>(x, w, s, z);
      },
      false);
  if constexpr (kSpatial > 1) {  // older archives repeat what is in the object
    const std::string old =
        "Tensor qx, " + object +
        " weight, int[] stride, int[] padding, int[] dilation, int groups, float output_scale, int "
        "output_zero_point) -> Tensor";
    builtin(
        schema("conv{}d", old),
        [](const Tensor& x, const IValue& w, const Ints&, const Ints&, const Ints&, int64_t, double s,
           int64_t z) { return conv_quantized<kSpatial, false>(x, w, s, z); },
        false);
    builtin(
        schema("conv{}d_relu", old),
        [](const Tensor& x, const IValue& w, const Ints&, const Ints&, const Ints&, int64_t, double s,
           int64_t z) { return conv_quantized<kSpatial, true>(x, w, s, z); },
        false);
  }
  for (const char* name : {"conv{}d_dynamic", "conv_transpose{}d_dynamic"})
    builtin(
        schema(name, "Tensor qx, " + object + " packed_weight, bool reduce_range=False) -> Tensor"),
        [](const Tensor& x, const IValue& w, bool r) { return conv_dynamic<kSpatial>(x, w, r); }, false);
  builtin(
      schema("conv{}d_prepack",
             "Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> " +
                 object),
      [](const Tensor& w, const OptionalTensor& b, const Ints& stride, const Ints& padding,
         const Ints& dilation, int64_t groups) {
        return prepack_conv(kSpatial, {w, or_undefined(b), {stride, padding, {}, dilation, groups, false}});
      },
      false);
  builtin(
      schema("conv_transpose{}d_prepack",
             "Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] output_padding, int[] "
             "dilation, int "
             "groups) -> " +
                 object),
      [](const Tensor& w, const OptionalTensor& b, const Ints& stride, const Ints& padding,
         const Ints& output_padding, const Ints& dilation, int64_t groups) {
        return prepack_conv(kSpatial,
                            {w, or_undefined(b), {stride, padding, output_padding, dilation, groups, true}});
      },
      false);
  for (const char* name : {"conv{}d_unpack", "conv_transpose{}d_unpack"})
    builtin(
        schema(name, object + " packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)"),
        [](const IValue& w) {
          const ConvParams params = packed::conv_params(w);
          const Tensor weight = packed::copy_weight(params.weight);
          return std::tuple(IValue(kSpatial == 1 ? weight_without_row(weight) : weight),
                            params.bias.defined() ? IValue(params.bias) : IValue());
        },
        false);
  if constexpr (kSpatial > 1) {
    for (const char* prefix : {"conv{}d", "conv_transpose{}d"}) {
      const auto about = [&](const char* what, const char* type) {
        return schema(prefix + std::string(what), object + " packed_weights) -> " + type);
      };
      builtin(
          about("_stride", "int[]"), [](const IValue& w) { return packed::conv_params(w).sizes.stride; },
          false);
      builtin(
          about("_padding", "int[]"), [](const IValue& w) { return packed::conv_params(w).sizes.padding; },
          false);
      builtin(
          about("_dilation", "int[]"), [](const IValue& w) { return packed::conv_params(w).sizes.dilation; },
          false);
      builtin(
          about("_groups", "int"), [](const IValue& w) { return packed::conv_params(w).sizes.groups; },
          false);
      builtin(
          about("_transpose", "int"),
          [](const IValue& w) { return int64_t{packed::conv_params(w).sizes.is_transposed}; }, false);
    }
  }
}

[[maybe_unused]] const bool kConvolutions = [] {
  define_conv<1>();
  define_conv<2>();
  define_conv<3>();
  const auto alias = [](const char* name, const char* of) {
    for (const Builtin* known : find_builtins(of))
      register_builtin(fmt::format("{}{}", name, known->text.substr(known->text.find('('))), known->run,
                       false);
  };
  alias("quantized::conv_prepack", "quantized::conv2d_prepack");
  alias("quantized::conv_unpack", "quantized::conv2d_unpack");
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
