// Functions of quantized tensors whose results have a scale of their own: sums, products, activations, norms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/quantized.h"
#include "ops/iteration_order.h"
#include "ops/quantized/products.h"
#include "ops/quantized/tensors.h"
#include "script/builtins/aten.h"
#include "weft/error.h"

namespace weft::jit::aten {
namespace {

const Tensor& quantized(const char* what, const Tensor& x) {
  WEFT_CHECK_TYPE(
      is_quantized(x.dtype()) && x.quantizer() && !x.quantizer()->is_per_channel(),
      fmt::format("quantized::{}: expected a tensor quantized per tensor, got {}", what, describe(x)));
  return x;
}

// Element by element; the result lies as the operands do.
Tensor in_order(const OpDef& op, std::initializer_list<Operand> operands) {
  return ops::invoke_in_order(op, std::span<const Operand>(operands.begin(), operands.size()), {});
}
Tensor sum(const Operand& x, const Operand& y) { return in_order(op<"add">(), {x, y}); }
Tensor product(const Operand& x, const Operand& y) { return in_order(op<"mul">(), {x, y}); }
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  return in_order(op<"where">(), {condition, x, y});
}
Tensor is_above(const Tensor& x, const Scalar& least) { return in_order(op<"gt">(), {x, least}); }
Tensor is_at_least(const Tensor& x, const Scalar& least) { return in_order(op<"ge">(), {x, least}); }

float scale_of(const Tensor& x) { return static_cast<float>(x.quantizer()->scales[0]); }
int64_t zero_point_of(const Tensor& x) { return static_cast<int64_t>(x.quantizer()->zero_points[0]); }
Tensor numbers(const char* what, const Tensor& x) { return dequantize(quantized(what, x)); }
Tensor fused_numbers(const char* what, const Tensor& x) { return dequantize_fused(quantized(what, x)); }
Tensor relu(const Tensor& x) { return call(op<"relu">(), {x}); }

// ---- integers by a factor --------------------------------------------------------------------------------
// clamp(round(x * factor) + zero point), of whole numbers x in float32.
Tensor scaled(const Tensor& x, float factor, double scale, int64_t zero_point, DType dtype, bool is_relu) {
  const Tensor products = product(x, Scalar(double{factor}));
  const Tensor rounded = quantize(products, dtype, per_tensor(1, zero_point));
  const Tensor result = of_integers(as_integers(rounded), dtype, per_tensor(scale, zero_point));
  return is_relu ? relu(result) : result;
}

// q - zero point, in float32: exact below 2^24.
Tensor steps(const Tensor& x) {
  return dequantize(of_integers(as_integers(x), x.dtype(), per_tensor(1, zero_point_of(x))));
}

// ---- sums and products -----------------------------------------------------------------------------------
void check_alike(const char* what, const Tensor& a, const Tensor& b) {
  quantized(what, a);
  quantized(what, b);
  WEFT_CHECK_TYPE(a.dtype() == b.dtype(),
                  fmt::format("quantized::{}: expected operands of one dtype\n  qa: {}   qb: {}", what,
                              describe(a), describe(b)));
}

template <bool kRelu>
Tensor add_quantized(const Tensor& a, const Tensor& b, double scale, int64_t zero_point) {
  check_alike("add", a, b);
  const Tensor direct = ops::add_affine(a, b, {scale, zero_point}, kRelu);
  if (direct.defined()) return direct;
  const Tensor added = sum(dequantize_fused(a), dequantize_fused(b));
  return quantize(kRelu ? relu(added) : added, a.dtype(), per_tensor(scale, zero_point));
}

template <bool kRelu>
Tensor mul_quantized(const Tensor& a, const Tensor& b, double scale, int64_t zero_point) {
  check_alike("mul", a, b);
  const float factor = scale_of(a) * scale_of(b) * (1.0F / static_cast<float>(scale));
  return scaled(product(steps(a), steps(b)), factor, scale, zero_point, a.dtype(), kRelu);
}

// The integers with another meaning.
Tensor meaning(const Tensor& x, double scale, int64_t zero_point, bool is_relu) {
  const Tensor result = of_integers(as_integers(x).clone(), x.dtype(), per_tensor(scale, zero_point));
  return is_relu ? relu(result) : result;
}

// A number moves the zero point; where there is none so far off, the scale grows.
template <bool kRelu>
Tensor add_number(const Tensor& x, const Scalar& number) {
  quantized("add_scalar", x);
  const double scale = x.quantizer()->scales[0];
  const auto steps_of_number = static_cast<int64_t>(
      std::nearbyint(number.to_double() / static_cast<double>(static_cast<float>(scale))));
  const QuantizedRange range = range_of(x.dtype());
  const int64_t moved = zero_point_of(x) - steps_of_number;
  if (moved >= range.low && moved <= range.high) return meaning(x, scale, moved, kRelu);
  const auto low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  const auto at = static_cast<double>(moved);
  const double grown = (moved < range.low ? high - at : at - low) / (high - low) * scale;
  const float factor = static_cast<float>(scale) * (1.0F / static_cast<float>(grown));
  return scaled(sum(steps(x), Scalar(steps_of_number)), factor, grown,
                moved < range.low ? range.low : range.high, x.dtype(), kRelu);
}

template <bool kRelu>
Tensor mul_number(const Tensor& x, const Scalar& number) {
  quantized("mul_scalar", x);
  const double factor = number.to_double(), scale = x.quantizer()->scales[0];
  if (factor > 0) return meaning(x, factor * scale, zero_point_of(x), kRelu);
  const Tensor integers = as_integers(x);
  if (factor == 0)
    return of_integers(Tensor::full(x.shape(), Scalar(int64_t{0}), integers.dtype()), x.dtype(),
                       per_tensor(1, 0));
  const QuantizedRange range = range_of(x.dtype());
  const Tensor turned =
      sum(product(cast(integers, DType::I64), Scalar(int64_t{-1})), Scalar(range.low + range.high));
  const Tensor result =
      of_integers(cast(turned, integers.dtype()), x.dtype(),
                  per_tensor(std::abs(factor) * scale, range.high - (zero_point_of(x) - range.low)));
  return kRelu ? relu(result) : result;
}

template <bool kRelu>
Tensor cat_quantized(const Tensors& tensors, int64_t dim, std::optional<double> scale,
                     OptionalInt zero_point) {
  WEFT_CHECK(!tensors.empty(), "quantized::cat: expected a list of at least one tensor");
  Tensors values;
  for (const Tensor& x : tensors) {
    WEFT_CHECK_TYPE(x.dtype() == tensors[0].dtype(), "quantized::cat: expected tensors of one dtype");
    const Tensor value = numbers("cat", x);
    values.push_back(kRelu ? relu(value) : value);
  }
  const auto to = per_tensor(scale.value_or(tensors[0].quantizer()->scales[0]),
                             zero_point.value_or(zero_point_of(tensors[0])));
  return quantize(call(op<"concatenate">(), values, {{"dim", number(dim)}}), tensors[0].dtype(), to);
}

[[maybe_unused]] const bool kSums = [] {
  const auto both = [](const char* name, auto plain, auto with_relu) {
    for (const bool is_relu : {false, true}) {
      const std::string schema =
          fmt::format("quantized::{}{}(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc", name,
                      is_relu ? "_relu" : "");
      if (is_relu)
        builtin(schema, with_relu, false);
      else
        builtin(schema, plain, false);
    }
  };
  both(
      "add",
      [](const Tensor& a, const Tensor& b, double s, int64_t z) { return add_quantized<false>(a, b, s, z); },
      [](const Tensor& a, const Tensor& b, double s, int64_t z) { return add_quantized<true>(a, b, s, z); });
  both(
      "mul",
      [](const Tensor& a, const Tensor& b, double s, int64_t z) { return mul_quantized<false>(a, b, s, z); },
      [](const Tensor& a, const Tensor& b, double s, int64_t z) { return mul_quantized<true>(a, b, s, z); });
  const auto with_number = [](const std::string& name, const std::string& scalar_name, auto function) {
    builtin(fmt::format("quantized::{}.Scalar(Tensor qa, Scalar b) -> Tensor qc", name), function, false);
    builtin(fmt::format("quantized::{}(Tensor qa, Scalar b) -> Tensor qc", scalar_name), function, false);
  };
  with_number("add", "add_scalar", [](const Tensor& a, const Scalar& b) { return add_number<false>(a, b); });
  with_number("add_relu", "add_scalar_relu",
              [](const Tensor& a, const Scalar& b) { return add_number<true>(a, b); });
  with_number("mul", "mul_scalar", [](const Tensor& a, const Scalar& b) { return mul_number<false>(a, b); });
  with_number("mul_relu", "mul_scalar_relu",
              [](const Tensor& a, const Scalar& b) { return mul_number<true>(a, b); });
  const auto with_tensor = [](const char* name, auto function) {
    builtin(fmt::format("quantized::{}.Tensor(Tensor qa, Tensor b) -> Tensor qc", name), function, false);
  };
  with_tensor("add_scalar", [](const Tensor& a, const Tensor& b) { return add_number<false>(a, b.item()); });
  with_tensor("add_scalar_relu",
              [](const Tensor& a, const Tensor& b) { return add_number<true>(a, b.item()); });
  with_tensor("mul_scalar", [](const Tensor& a, const Tensor& b) { return mul_number<false>(a, b.item()); });
  with_tensor("mul_scalar_relu",
              [](const Tensor& a, const Tensor& b) { return mul_number<true>(a, b.item()); });
  const auto turned = [](const char* name, auto function) {
    builtin(fmt::format("quantized::{}.Scalar2(Scalar b, Tensor qa) -> Tensor qc", name), function, false);
  };
  turned("add", [](const Scalar& b, const Tensor& a) { return add_number<false>(a, b); });
  turned("add_relu", [](const Scalar& b, const Tensor& a) { return add_number<true>(a, b); });
  turned("mul", [](const Scalar& b, const Tensor& a) { return mul_number<false>(a, b); });
  turned("mul_relu", [](const Scalar& b, const Tensor& a) { return mul_number<true>(a, b); });
  builtin(
      "quantized::cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
      [](const Tensors& x, int64_t dim, std::optional<double> s, OptionalInt z) {
        return cat_quantized<false>(x, dim, s, z);
      },
      false);
  builtin(
      "quantized::cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
      [](const Tensors& x, int64_t dim, std::optional<double> s, OptionalInt z) {
        return cat_quantized<true>(x, dim, s, z);
      },
      false);
  builtin(
      "quantized::matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
      [](const Tensor& a, const Tensor& b, double s, int64_t z) {
        check_alike("matmul", a, b);
        return quantize(matmul(dequantize(a), dequantize(b)), a.dtype(), per_tensor(s, z));
      },
      false);
  return true;
}();

// ---- activations -----------------------------------------------------------------------------------------
Tensor rounded_to(const Tensor& x, const Tensor& like, double scale, int64_t zero_point) {
  return quantize(x, like.dtype(), per_tensor(scale, zero_point));
}

[[maybe_unused]] const bool kActivations = [] {
  builtin(
      "quantized::relu6(Tensor qx, bool inplace=False) -> Tensor",
      [](const Tensor& x, bool inplace) {
        Tensor result = call(op<"relu6">(), {quantized("relu6", x)});
        if (!inplace) return result;
        x.copy_from(result);
        return x;
      },
      false);
  builtin(
      "quantized::clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy",
      [](const Tensor& x, const std::optional<Scalar>& least, const std::optional<Scalar>& most) {
        const auto limit = [](const std::optional<Scalar>& value) {
          return value ? Operand(*value) : Operand(Tensor());
        };
        return promoted(op<"clip">(), {quantized("clamp", x), limit(least), limit(most)});
      },
      false);
  builtin(
      "quantized::hardswish(Tensor input, float output_scale, int output_zero_point) -> Tensor",
      [](const Tensor& x, double s, int64_t z) {
        return rounded_to(in_order(op<"hardswish">(), {fused_numbers("hardswish", x)}), x, s, z);
      },
      false);
  builtin(
      "quantized::sigmoid(Tensor qx, float output_scale, int output_zero_point) -> Tensor",
      [](const Tensor& x, double s, int64_t z) {
        return rounded_to(in_order(op<"sigmoid">(), {fused_numbers("sigmoid", x)}), x, s, z);
      },
      false);
  builtin(
      "quantized::leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, float output_scale, int "
      "output_zero_point) -> Tensor",
      [](const Tensor& x, const Scalar& slope, bool, double s, int64_t z) {
        const Tensor value = fused_numbers("leaky_relu", x), below = product(value, slope);
        return rounded_to(where(is_above(value, Scalar(0)), value, below), x, s, z);
      },
      false);
  builtin(
      "quantized::elu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1, Scalar "
      "scale=1, Scalar "
      "input_scale=1) -> Tensor",
      [](const Tensor& x, double s, int64_t z, const Scalar& alpha, const Scalar& scale,
         const Scalar& input_scale) {
        const Tensor value = fused_numbers("elu", x);
        const Tensor below = product(in_order(op<"expm1">(), {product(value, input_scale)}),
                                     Scalar(alpha.to_double() * scale.to_double()));
        const Tensor above = product(value, scale);
        return rounded_to(where(is_at_least(value, Scalar(0)), above, below), x, s, z);
      },
      false);
  builtin(
      "quantized::celu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1) -> Tensor",
      [](const Tensor& x, double s, int64_t z, const Scalar& alpha) {
        const Tensor value = numbers("celu", x);
        const Tensor below =
            product(in_order(op<"expm1">(), {product(value, Scalar(1.0 / alpha.to_double()))}), alpha);
        return rounded_to(where(is_at_least(value, Scalar(0)), value, below), x, s, z);
      },
      false);
  builtin(
      "quantized::threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy",
      [](const Tensor& x, const Scalar& threshold, const Scalar& value) {
        const Tensor given = numbers("threshold", x);
        const Tensor other = Tensor::full(given.shape(), value, DType::F32);
        const Tensor chosen = where(is_above(given, threshold), given, other);
        return quantize(chosen, x.dtype(), x.quantizer());
      },
      false);
  builtin(
      "quantized::prelu(Tensor qx, Tensor weight, float output_scale, int output_zero_point) -> Tensor",
      [](const Tensor& x, const Tensor& weight, double s, int64_t z) {
        const Tensor value = numbers("prelu", x), slope = numbers("prelu", weight);
        Ints shape(static_cast<size_t>(std::max<int64_t>(x.dim(), 1)), 1);
        shape[x.dim() > 1 ? 1 : 0] = slope.numel();
        const Tensor below = product(value, call(op<"reshape">(), {slope}, {{"shape", sizes(shape)}}));
        return rounded_to(where(is_at_least(value, Scalar(0)), value, below), x, s, z);
      },
      false);
  builtin(
      "quantized::softmax(Tensor qx, int dim, float output_scale, int output_zero_point) -> Tensor",
      [](const Tensor& x, int64_t dim, double s, int64_t z) {
        return rounded_to(call(op<"softmax">(), {numbers("softmax", x)}, {{"dim", number(dim)}}), x, s, z);
      },
      false);
  builtin(
      "quantized::dropout(Tensor self, float output_scale, int output_zero_point, Scalar p=0.5, bool "
      "training=False) "
      "-> Tensor",
      [](const Tensor& x, double, int64_t, const Scalar&, bool training) {
        if (training)
          throw_error(ErrorKind::NotImplemented,
                      "quantized::dropout: weft runs models and does not train them");
        return quantized("dropout", x);
      },
      false);
  return true;
}();

// ---- norms -----------------------------------------------------------------------------------------------
// Each channel's numbers by a factor and a sum, both in steps of the result.
Tensor batch_norm(const char* what, const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
                  const Tensor& mean, const Tensor& variance, double eps, double scale, int64_t zero_point,
                  bool is_relu) {
  quantized(what, x);
  WEFT_CHECK(
      x.dim() >= 2 && mean.numel() == x.size(1) && variance.numel() == x.size(1),
      fmt::format(
          "quantized::{}: expected [batch, channels, …] and a mean and variance for each channel, got {}",
          what, describe(x)));
  Ints shape(static_cast<size_t>(x.dim()), 1);
  shape[1] = x.size(1);
  const Tensor factors = Tensor::empty(shape, DType::F32), sums = Tensor::empty(shape, DType::F32);
  const auto out = static_cast<float>(scale);
  for (int64_t c = 0; c < x.size(1); ++c) {
    const auto at = [c](const OptionalTensor& of, float otherwise) {
      return of ? static_cast<float>(of->at(c)) : otherwise;
    };
    const float deviation = 1.0F / std::sqrt(at(variance, 1) + static_cast<float>(eps)), gain = at(weight, 1);
    factors.data_as<float>()[c] = deviation * gain * (scale_of(x) / out);
    sums.data_as<float>()[c] = (at(bias, 0) - at(mean, 0) * deviation * gain) / out;
  }
  const Tensor value = sum(product(steps(x), factors), sums);
  const Tensor rounded = quantize(value, x.dtype(), per_tensor(1, zero_point));
  const Tensor result = of_integers(as_integers(rounded), x.dtype(), per_tensor(scale, zero_point));
  return is_relu ? relu(result) : result;
}

[[maybe_unused]] const bool kNorms = [] {
  for (const char* name : {"batch_norm", "batch_norm1d", "batch_norm2d", "batch_norm3d"}) {
    const char* const rest =
        "(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, float output_scale, "
        "int "
        "output_zero_point) -> Tensor";
    builtin(
        fmt::format("quantized::{}{}", name, rest),
        [](const Tensor& x, const OptionalTensor& w, const OptionalTensor& b, const Tensor& mean,
           const Tensor& var, double eps, double s,
           int64_t z) { return batch_norm("batch_norm", x, w, b, mean, var, eps, s, z, false); },
        false);
    builtin(
        fmt::format("quantized::{}_relu{}", name, rest),
        [](const Tensor& x, const OptionalTensor& w, const OptionalTensor& b, const Tensor& mean,
           const Tensor& var, double eps, double s,
           int64_t z) { return batch_norm("batch_norm_relu", x, w, b, mean, var, eps, s, z, true); },
        false);
  }
  builtin(
      "quantized::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps, "
      "float "
      "output_scale, int output_zero_point) -> Tensor",
      [](const Tensor& x, const Ints& shape, const OptionalTensor& w, const OptionalTensor& b, double eps,
         double s, int64_t z) {
        return rounded_to(
            call(op<"layer_norm">(), {numbers("layer_norm", x), or_undefined(w), or_undefined(b)},
                 {{"normalized_shape", sizes(shape)}, {"eps", eps}}),
            x, s, z);
      },
      false);
  builtin(
      "quantized::group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps, float "
      "output_scale, int output_zero_point) -> Tensor",
      [](const Tensor& x, int64_t groups, const OptionalTensor& w, const OptionalTensor& b, double eps,
         double s, int64_t z) {
        return rounded_to(
            call(op<"group_norm">(), {numbers("group_norm", x), or_undefined(w), or_undefined(b)},
                 {{"num_groups", number(groups)}, {"eps", eps}}),
            x, s, z);
      },
      false);
  builtin(
      "quantized::instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, float output_scale, "
      "int "
      "output_zero_point) -> Tensor",
      [](const Tensor& x, const OptionalTensor& w, const OptionalTensor& b, double eps, double s, int64_t z) {
        const Tensor value = numbers("instance_norm", x);
        return rounded_to(call(op<"group_norm">(), {value, or_undefined(w), or_undefined(b)},
                               {{"num_groups", number(x.size(1))}, {"eps", eps}}),
                          x, s, z);
      },
      false);
  return true;
}();

// ---- pooling ---------------------------------------------------------------------------------------------
template <Name N>
Tensor max_pool(const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& padding,
                const Ints& dilation, bool ceil_mode) {
  Attrs attrs{{"kernel_size", sizes(kernel)},
              {"padding", sizes(padding)},
              {"dilation", sizes(dilation)},
              {"ceil_mode", ceil_mode}};
  if (!stride.empty()) attrs.set("stride", sizes(stride));
  return call(op<N>(), {quantized("max_pool", x)}, std::move(attrs));
}

[[maybe_unused]] const bool kPools = [] {
  builtin(
      "quantized::max_pool1d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool "
      "ceil_mode) -> Tensor",
      [](const Tensor& x, const Ints& k, const Ints& s, const Ints& p, const Ints& d, bool c) {
        return max_pool<"max_pool1d">(x, k, s, p, d, c);
      },
      false);
  builtin(
      "quantized::max_pool2d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool "
      "ceil_mode) -> Tensor",
      [](const Tensor& x, const Ints& k, const Ints& s, const Ints& p, const Ints& d, bool c) {
        return max_pool<"max_pool2d">(x, k, s, p, d, c);
      },
      false);
  define(
      "quantized_max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
      "dilation=1, "
      "bool ceil_mode=False) -> Tensor",
      [](const Tensor& x, const Ints& k, const Ints& s, const Ints& p, const Ints& d, bool c) {
        return max_pool<"max_pool2d">(x, k, s, p, d, c);
      },
      false);
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
