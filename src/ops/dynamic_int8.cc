// Products of int8 numbers, and linear layers whose inputs are quantized token by token.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cpu/gemm_int8.h"
#include "kernels/cpu/packed_int8.h"
#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

using Int8Types = std::span<const TensorType>;
using kernels::RowActivation;
enum Int8Operands : size_t { kTokens, kTokenScales, kInt8Weight, kInt8Scales, kInt8Bias, kInt8Residual };

[[noreturn]] void fail_int8(const OpDef& op, Int8Types operands, const std::string& what) {
  throw_error(ErrorKind::Value, fmt::format("{}: {}{}", op.name, what, describe_operands(op, operands)));
}

void check_int8(const OpDef& op, Int8Types operands, size_t index, DType dtype) {
  WEFT_CHECK_TYPE(operands[index].absent || operands[index].dtype == dtype,
                  fmt::format("{}: expected {} of {}, got {}{}", op.name, op.params[index].name, name(dtype),
                              name(operands[index].dtype), describe_operands(op, operands)));
}

// ---- int32 sums --------------------------------------------------------------------------------
std::vector<TensorType> infer_int_mm(const OpDef& op, Int8Types operands, const Attrs&) {
  check_int8(op, operands, 0, DType::I8);
  check_int8(op, operands, 1, DType::I8);
  const SymShape &x = operands[0].shape, &y = operands[1].shape;
  if (x.size() != 2 || y.size() != 2) fail_int8(op, operands, "expected x [m, k] and y [k, n]");
  if (sym_ne(x[1], y[0])) fail_int8(op, operands, "inner dimensions must match");
  return {{DType::I32, {x[0], y[1]}, operands[0].device}};
}

std::vector<Tensor> eager_int_mm(const OpDef&, std::span<const Tensor> operands, const Attrs&) {
  const Tensor &x = operands[0], &y = operands[1];
  Tensor sums = Tensor::empty({x.size(0), y.size(1)}, DType::I32);
  const auto view = [](const Tensor& matrix) {
    return kernels::MatrixView<int8_t>{matrix.data_as<int8_t>(), matrix.strides()[0], matrix.strides()[1]};
  };
  kernels::gemm_int8(kernels::int8_kernels(), x.size(0), y.size(1), x.size(1), view(x), view(y),
                     sums.data_as<int32_t>());
  return {sums};
}

// ---- the layer ---------------------------------------------------------------------------------
RowActivation int8_activation(const OpDef& op, const Attrs& attrs) {
  constexpr std::array<std::string_view, 8> kNames = {"none",        "relu", "relu6",    "hardswish",
                                                      "hardsigmoid", "silu", "gelu_erf", "gelu_tanh"};
  const std::string& wanted = attrs.get<std::string>("activation");
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == wanted) return static_cast<RowActivation>(i);
  throw_error(ErrorKind::Value, fmt::format("{}: unknown activation '{}'", op.name, wanted));
}

DType int8_result(const OpDef& op, const Attrs& attrs) {
  const DType dtype = dtype_arg(attrs).value_or(DType::F32);
  WEFT_CHECK_TYPE(
      dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16,
      fmt::format("{}: expected dtype float32, float16 or bfloat16, got {}", op.name, name(dtype)));
  return dtype;
}

std::vector<TensorType> infer_linear_int8(const OpDef& op, Int8Types operands, const Attrs& attrs) {
  check_int8(op, operands, kTokens, DType::I8);
  check_int8(op, operands, kTokenScales, DType::F32);
  check_int8(op, operands, kInt8Weight, DType::I8);
  check_int8(op, operands, kInt8Scales, DType::F32);
  const SymShape &x = operands[kTokens].shape, &weight = operands[kInt8Weight].shape;
  if (x.empty() || weight.size() != 2 || sym_ne(x.back(), weight[1]))
    fail_int8(op, operands, "expected input [..., k] and weight [n, k]");
  TensorType result{int8_result(op, attrs), x, operands[kTokens].device};
  result.shape.back() = weight[0];
  SymShape rows = x;
  rows.back() = Sym(1);
  const auto same = [&](const TensorType& type, const SymShape& shape) {
    bool equal = type.shape.size() == shape.size();
    for (size_t d = 0; equal && d < shape.size(); ++d) equal = sym_eq(type.shape[d], shape[d]);
    return equal;
  };
  if (!operands[kTokenScales].absent && !same(operands[kTokenScales], rows))
    fail_int8(op, operands, fmt::format("expected input_scales {}", str(rows)));
  for (const size_t each : {kInt8Scales, kInt8Bias})
    if (!operands[each].absent && !same(operands[each], {weight[0]}))
      fail_int8(op, operands, fmt::format("expected {} [n]", op.params[each].name));
  WEFT_CHECK_TYPE(operands[kInt8Bias].absent || is_floating(operands[kInt8Bias].dtype),
                  fmt::format("{}: expected floating bias{}", op.name, describe_operands(op, operands)));
  const TensorType& residual = operands[kInt8Residual];
  if (!residual.absent && (residual.dtype != result.dtype || !same(residual, result.shape)))
    fail_int8(op, operands, fmt::format("expected residual of the result's type {}", result.str()));
  int8_activation(op, attrs);
  return {result};
}

class ReadyInt8 {
 public:
  ReadyInt8(const OpDef& op, std::span<const Tensor> constants, const Attrs& attrs)
      : activation_(int8_activation(op, attrs)), dtype_(int8_result(op, attrs)) {
    const Tensor weight = constants[kInt8Weight].contiguous();
    const Tensor scales = floats_of(constants[kInt8Scales]), bias = floats_of(constants[kInt8Bias]);
    packed_ = std::make_unique<kernels::PackedInt8>(kernels::int8_kernels(), weight.size(0), weight.size(1),
                                                    weight.data_as<int8_t>(),
                                                    scales.defined() ? scales.data_as<float>() : nullptr,
                                                    bias.defined() ? bias.data_as<float>() : nullptr);
  }

  Tensor run(std::span<const Tensor> operands) const {
    const Tensor x = operands[kTokens].contiguous(), row_scales = floats_of(operands[kTokenScales]);
    // float16 is what kernels do not write: by way of float32.
    const DType computed = dtype_ == DType::F16 ? DType::F32 : dtype_;
    const Tensor residual =
        operands[kInt8Residual].defined() ? operands[kInt8Residual].to(computed).contiguous() : Tensor();
    Shape shape = x.shape();
    shape.back() = packed_->n();
    const Tensor y = Tensor::empty(shape, computed);
    if (y.numel() > 0)
      packed_->run(x.data_as<int8_t>(), y.numel() / packed_->n(),
                   {.row_scales = row_scales.defined() ? row_scales.data_as<float>() : nullptr,
                    .activation = activation_,
                    .bfloat16 = computed == DType::BF16,
                    .residual = residual.defined() ? residual.data() : nullptr,
                    .y = y.data()});
    return y.to(dtype_);
  }

 private:
  static Tensor floats_of(const Tensor& x) { return x.defined() ? x.to(DType::F32).contiguous() : Tensor(); }

  const RowActivation activation_;
  const DType dtype_;
  std::unique_ptr<const kernels::PackedInt8> packed_;
};

std::vector<Tensor> eager_linear_int8(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  return {ReadyInt8(op, operands, attrs).run(operands)};
}

PreparedFn prepare_linear_int8(const OpDef& op, std::span<const Tensor> constants, const Attrs& attrs) {
  if (!constants[kInt8Weight].defined()) return nullptr;
  return
      [&op, attrs, has_scales = constants[kInt8Scales].defined(), has_bias = constants[kInt8Bias].defined(),
       linear = std::make_shared<const ReadyInt8>(op, constants, attrs)](
          std::span<const Tensor> operands) -> std::vector<Tensor> {
        // Scales and bias that are no constants are not packed.
        if (operands[kInt8Scales].defined() != has_scales || operands[kInt8Bias].defined() != has_bias)
          return eager_linear_int8(op, operands, attrs);
        return {linear->run(operands)};
      };
}

// ---- rows of numbers ---------------------------------------------------------------------------
std::vector<Tensor> quantize_tokens(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  WEFT_CHECK(x.dim() > 0,
             fmt::format("{}: expected at least 1 dimension, got {}", op.name, type_of(x).str()));
  WEFT_CHECK_TYPE(is_floating(x.dtype()),
                  fmt::format("{}: expected floating x, got {}", op.name, type_of(x).str()));
  const Tensor floats = build::cast(x, DType::F32);
  if (!x.is_traced() && x.device().type == DeviceType::CPU && x.numel() > 0) {
    const Tensor rows = floats.contiguous(), q = Tensor::empty(rows.shape(), DType::I8);
    Shape shape = rows.shape();
    shape.back() = 1;
    const Tensor scales = Tensor::empty(shape, DType::F32);
    kernels::quantize_tokens(rows.data_as<float>(), scales.numel(), rows.size(-1), q.data_as<int8_t>(),
                             scales.data_as<float>());
    return {q, scales};
  }
  const Tensor most =
      call1("amax", {call1("abs", {floats})}, {{"dim", SymShape{Sym(-1)}}, {"keepdim", true}});
  const Tensor scales = invoke("div", {invoke("maximum", {most, Scalar(1e-5)}), Scalar(127.0)});
  const Tensor rounded = call1("round", {invoke("div", {floats, scales})});
  const Tensor clamped = invoke("minimum", {invoke("maximum", {rounded, Scalar(-127.0)}), Scalar(127.0)});
  return {build::cast(clamped, DType::I8), scales};
}

std::vector<Tensor> linear_dynamic_int8(const OpDef& op, const OpArgs& args) {
  const std::vector<Tensor> tokens = quantize_tokens(op, args);
  return call(get_op("linear_int8"),
              {{tokens[0], tokens[1], args.tensors[1], args.tensors[2], args.tensors[3], Tensor()},
               {{"dtype", args.tensors[0].dtype()}}});
}

[[maybe_unused]] const OpDef* const kDynamicInt8[] = {
    &register_op({.name = "_int_mm",
                  .schema = "(Tensor x, Tensor y) -> Tensor",
                  .doc = "i8[m, k] @ i8[k, n]: exact sums i32[m, n].",
                  .numpy = "numpy.matmul(x.astype('int32'), y.astype('int32'))",
                  .infer = infer_int_mm,
                  .eager = eager_int_mm}),
    &register_op(
        {.name = "linear_int8",
         .schema = "(Tensor input, Tensor? input_scales, Tensor weight, Tensor? scales=None, Tensor? "
                   "bias=None, Tensor? residual=None, *, str activation='none', dtype? dtype=None) -> Tensor",
         .doc = "activation(sums * input_scales * scales + bias) + residual, where sums = input i8[*, k] @ "
                "weight i8[n, k].T are exact and\n"
                "the rest is float32, rounded once to `dtype` (float32). input_scales f32[*, 1], scales "
                "f32[n].\n"
                "activation: none, relu, relu6, hardswish, hardsigmoid, silu, gelu_erf, gelu_tanh.\n"
                "Compiled graphs pack constant weights once.",
         .infer = infer_linear_int8,
         .eager = eager_linear_int8,
         .prepare = prepare_linear_int8}),
    &define_composite(
        "quantize_tokens", "(Tensor x) -> (Tensor, Tensor)",
        "Symmetric int8 numbers of every row of x[*, k]: (q i8[*, k], scales f32[*, 1]). scale "
        "= max(max |x|, 1e-5) / 127; q =\n"
        "clamp(round(x / scale), -127, 127), halves to even. The scale of a row with an infinity "
        "or NaN is that.",
        "", quantize_tokens),
    &define_composite("linear_dynamic_int8",
                      "(Tensor x, Tensor weight, Tensor scales, Tensor? bias=None) -> Tensor",
                      "x[*, k], quantized by quantize_tokens, times weight i8[n, k] with scales f32[n] "
                      "(quantize_int8), plus bias: linear_int8\n"
                      "in the dtype of x.",
                      "", linear_dynamic_int8),
};

}  // namespace
}  // namespace weft::ops
