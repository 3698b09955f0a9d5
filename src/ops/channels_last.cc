// Operators that passes put in the place of others: images as [batch, height, width, channels], so that a
// pixel's channels are one vector, and what follows a convolution or a linear layer done in the same pass
// over memory. The public operators have PyTorch's layout; these are reached through compiled graphs.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <mutex>

#include "kernels/cpu/blas.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/conv_packed_bfloat16.h"
#include "kernels/cpu/gemm_kernels.h"
#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

using kernels::Activation;

constexpr std::pair<std::string_view, Activation> kActivations[] = {
    {"none", Activation::None},
    {"relu", Activation::Relu},
    {"relu6", Activation::Relu6},
    {"hardswish", Activation::HardSwish},
    {"hardsigmoid", Activation::HardSigmoid},
    {"silu", Activation::Silu},
    {"gelu_erf", Activation::GeluErf},
    {"gelu_tanh", Activation::GeluTanh},
};

Activation activation_arg(const OpDef& op, const Attrs& attrs) {
  const std::string& wanted = attrs.get<std::string>("activation");
  for (const auto& [name, activation] : kActivations) {
    if (name == wanted) return activation;
  }
  throw_error(ErrorKind::Value, fmt::format("{}: unknown activation '{}'", op.name, wanted));
}

TensorType permuted(const TensorType& type, const std::array<size_t, 4>& order) {
  TensorType result = type;
  for (size_t d = 0; d < 4; ++d) result.shape[d] = type.shape[order[d]];
  return result;
}
constexpr std::array<size_t, 4> kToFirst{0, 3, 1, 2}, kToLast{0, 2, 3, 1};

void check_image(const OpDef& op, std::span<const TensorType> operands) {
  WEFT_CHECK(
      operands[0].shape.size() == 4 && (operands[0].dtype == DType::F32 || operands[0].dtype == DType::BF16),
      fmt::format("{}: expected input f32 or bf16 [batch, height, width, channels]{}", op.name,
                  describe_operands(op, operands)));
}

void check_residual(const OpDef& op, std::span<const TensorType> operands, const TensorType& result) {
  if (operands[3].absent) return;
  bool same = operands[3].dtype == result.dtype && operands[3].shape.size() == result.shape.size();
  for (size_t d = 0; same && d < result.shape.size(); ++d)
    same = sym_eq(operands[3].shape[d], result.shape[d]);
  WEFT_CHECK(same, fmt::format("{}: expected residual of the result's shape {}{}", op.name, str(result.shape),
                               describe_operands(op, operands)));
}

// ---- convolution -----------------------------------------------------------------------------------------
std::vector<TensorType> infer_conv(const OpDef& op, std::span<const TensorType> operands,
                                   const Attrs& attrs) {
  check_image(op, operands);
  const TensorType first = permuted(operands[0], kToFirst);
  const std::vector<TensorType> types{first, operands[1], operands[2]};
  const Attrs plain{{"stride", attrs.at("stride")},       {"padding", attrs.at("padding")},
                    {"dilation", attrs.at("dilation")},   {"transposed", false},
                    {"output_padding", SymShape{Sym(0)}}, {"groups", attrs.at("groups")}};
  const TensorType result = permuted(infer(get_op("convolution"), types, plain)[0], kToLast);
  check_residual(op, operands, result);
  activation_arg(op, attrs);
  return {result};
}

std::array<int64_t, 2> pair_arg(const Attrs& attrs, std::string_view name) {
  const std::vector<int64_t> values = int_list_arg(attrs, name);
  return {values[0], values.size() > 1 ? values[1] : values[0]};
}

kernels::ConvParams conv_params(const OpDef& op, const Tensor& weight, const Attrs& attrs) {
  kernels::ConvParams params;
  params.groups = int_arg(attrs, "groups");
  params.in_channels = weight.shape()[1] * params.groups;
  params.out_channels = weight.shape()[0];
  params.kernel = {weight.shape()[2], weight.shape()[3]};
  params.stride = pair_arg(attrs, "stride");
  params.padding = pair_arg(attrs, "padding");
  params.dilation = pair_arg(attrs, "dilation");
  params.activation = activation_arg(op, attrs);
  return params;
}

// [before, after] of a padding of four numbers, or the same twice.
int64_t total_padding(const std::vector<int64_t>& padding, size_t d) {
  if (padding.size() == 4) return padding[d] + padding[d + 2];
  return 2 * (padding.size() == 1 ? padding[0] : padding[d]);
}

const uint16_t* image_bits(const Tensor& x) {
  return reinterpret_cast<const uint16_t*>(x.data_as<BFloat16>());
}

// A convolution whose weights are packed.
class ReadyConv {
 public:
  ReadyConv(const OpDef& op, const Tensor& weight, const Tensor& bias, const Attrs& attrs)
      : params_(conv_params(op, weight, attrs)),
        padding_(int_list_arg(attrs, "padding")),
        dtype_(weight.dtype()) {
    const Tensor floats = bias.defined() ? bias.to(DType::F32).contiguous() : Tensor();
    const float* const start = bias.defined() ? floats.data_as<float>() : nullptr;
    const kernels::BFloat16Kernels* const engine =
        dtype_ == DType::BF16 && params_.groups == 1 ? kernels::bfloat16_kernels() : nullptr;
    if (engine)
      half_ = std::make_unique<kernels::PackedConvBFloat16>(*engine, params_, image_bits(weight.contiguous()),
                                                            start);
    else
      single_ = std::make_unique<kernels::PackedConv>(
          params_, weight.to(DType::F32).contiguous().data_as<float>(), start);
  }

  // A fifth operand is where the result goes: some of the channels of a wider image.
  std::vector<Tensor> run(std::span<const Tensor> operands) const {
    const Tensor x = operands[0].contiguous();
    const Tensor residual = operands[3].defined() ? operands[3].contiguous() : Tensor();
    Tensor y = operands.size() > 4 ? operands[4] : Tensor::empty(result_shape(x), dtype_);
    if (y.numel() == 0) return {y};
    if (half_) {
      half_->run({.x = image_bits(x),
                  .batch = x.size(0),
                  .height = x.size(1),
                  .width = x.size(2),
                  .y = reinterpret_cast<uint16_t*>(y.data_as<BFloat16>()),
                  .out_height = y.size(1),
                  .out_width = y.size(2),
                  .residual = residual.defined() ? image_bits(residual) : nullptr,
                  .y_stride = y.strides()[2]});
    } else if (dtype_ == DType::F32) {
      run_single(x, residual, y);
    } else {
      const Tensor wide = Tensor::empty(y.shape(), DType::F32);
      run_single(x.to(DType::F32), residual.defined() ? residual.to(DType::F32) : residual, wide);
      y.copy_from(wide.to(dtype_));
    }
    return {y};
  }

 private:
  Shape result_shape(const Tensor& x) const {
    Shape shape{x.size(0), 0, 0, params_.out_channels};
    for (size_t d = 0; d < 2; ++d)
      shape[d + 1] = (x.shape()[d + 1] + total_padding(padding_, d) -
                      params_.dilation[d] * (params_.kernel[d] - 1) - 1) /
                         params_.stride[d] +
                     1;
    return shape;
  }

  void run_single(const Tensor& x, const Tensor& residual, const Tensor& y) const {
    kernels::ConvImages images;
    images.x = x.data_as<float>();
    images.batch = x.size(0);
    images.height = x.size(1);
    images.width = x.size(2);
    images.y = y.data_as<float>();
    images.y_stride = y.strides()[2];
    images.out_height = y.size(1);
    images.out_width = y.size(2);
    images.residual = residual.defined() ? residual.data_as<float>() : nullptr;
    single_->run(images);
  }

  const kernels::ConvParams params_;
  const std::vector<int64_t> padding_;
  const DType dtype_;
  std::unique_ptr<const kernels::PackedConv> single_;
  std::unique_ptr<const kernels::PackedConvBFloat16> half_;
};

std::vector<Tensor> eager_conv(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  return ReadyConv(op, operands[1], operands[2], attrs).run(operands);
}

PreparedFn prepare_conv(const OpDef& op, std::span<const Tensor> constants, const Attrs& attrs) {
  if (!constants[1].defined()) return nullptr;
  return [&op, attrs, has_bias = constants[2].defined(),
          conv = std::make_shared<const ReadyConv>(op, constants[1], constants[2], attrs)](
             std::span<const Tensor> operands) {
    // A bias that is no constant is not packed.
    return operands[2].defined() == has_bias ? conv->run(operands) : eager_conv(op, operands, attrs);
  };
}

// ---- linear ----------------------------------------------------------------------------------------------
std::vector<TensorType> infer_linear(const OpDef& op, std::span<const TensorType> operands,
                                     const Attrs& attrs) {
  const TensorType &x = operands[0], &weight = operands[1], &bias = operands[2];
  const bool dtypes =
      x.dtype == DType::F32 && weight.dtype == DType::F32 && (bias.absent || bias.dtype == DType::F32);
  WEFT_CHECK(
      dtypes && !x.shape.empty() && weight.shape.size() == 2 && sym_eq(x.shape.back(), weight.shape[1]),
      fmt::format("{}: expected f32 input [..., k] and weight [n, k]{}", op.name,
                  describe_operands(op, operands)));
  WEFT_CHECK(bias.absent || (bias.shape.size() == 1 && sym_eq(bias.shape[0], weight.shape[0])),
             fmt::format("{}: expected bias [n]{}", op.name, describe_operands(op, operands)));
  TensorType result = x;
  result.shape.back() = weight.shape[0];
  check_residual(op, operands, result);
  activation_arg(op, attrs);
  return {result};
}

std::shared_ptr<const kernels::PackedLinear> pack_linear(const OpDef& op, const Tensor& weight,
                                                         const Tensor& bias, const Attrs& attrs) {
  const Tensor dense_weight = weight.contiguous(), dense_bias = bias.defined() ? bias.contiguous() : Tensor();
  return std::make_shared<kernels::PackedLinear>(
      weight.shape()[1], weight.shape()[0], dense_weight.data_as<float>(),
      bias.defined() ? dense_bias.data_as<float>() : nullptr, activation_arg(op, attrs));
}

// A fifth operand is where the result goes.
Tensor room_for(std::span<const Tensor> operands, int64_t out) {
  if (operands.size() > 4) return operands[4];
  Shape shape = operands[0].shape();
  shape.back() = out;
  return Tensor::empty(shape, DType::F32);
}

std::vector<Tensor> run_linear(const kernels::PackedLinear& linear, int64_t out,
                               std::span<const Tensor> operands) {
  const Tensor x = operands[0].contiguous();
  const Tensor residual = operands[3].defined() ? operands[3].contiguous() : Tensor();
  const int64_t in = x.shape().back();
  const Tensor y = room_for(operands, out);
  if (y.numel() > 0) {
    linear.run(x.data_as<float>(), y.numel() / out, y.data_as<float>(),
               residual.defined() ? residual.data_as<float>() : nullptr, in, out);
  }
  return {y};
}

std::vector<Tensor> eager_linear(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  return run_linear(*pack_linear(op, operands[1], operands[2], attrs), operands[1].shape()[0], operands);
}

// A layer with constant weights. Their packed copy is made when several rows first come: one row is
// multiplied as quickly by the weights as they lie.
class ConstantLinear {
 public:
  ConstantLinear(const OpDef& op, const Tensor& weight, const Tensor& bias, const Attrs& attrs)
      : op_(op), weight_(weight.contiguous()), bias_(bias), attrs_(attrs) {
    if (bias.defined()) bias_ = bias.contiguous();
  }

  std::vector<Tensor> run(std::span<const Tensor> operands) const {
    if (operands[2].defined() != bias_.defined()) return eager_linear(op_, operands, attrs_);
    const int64_t out = weight_.shape()[0], in = weight_.shape()[1];
    constexpr int64_t kSmall = 1 << 14;  // what is packed stays in the nearest cache
    if (operands[0].numel() == in && in * out >= kSmall) return {run_row(operands)};
    std::call_once(packs_, [&] { packed_ = pack_linear(op_, weight_, bias_, attrs_); });
    return run_linear(*packed_, out, operands);
  }

 private:
  Tensor run_row(std::span<const Tensor> operands) const {
    const int64_t out = weight_.shape()[0], in = weight_.shape()[1];
    const Tensor x = operands[0].contiguous();
    const Tensor y = room_for(operands, out);
    float* const to = y.data_as<float>();
    kernels::matrix_product<float>(1, out, in, {x.data_as<float>(), in, 1}, {weight_.data_as<float>(), 1, in},
                                   to);
    const auto add = [&](const Tensor& term) {
      if (!term.defined()) return;
      const Tensor dense = term.contiguous();
      const float* const from = dense.data_as<float>();
      for (int64_t i = 0; i < out; ++i) to[i] += from[i];
    };
    add(bias_);
    add(operands[3]);
    kernels::gemm_kernels().activate(activation_arg(op_, attrs_), 1, out, to, out);
    return y;
  }

  const OpDef& op_;
  const Tensor weight_;
  Tensor bias_;
  const Attrs attrs_;
  mutable std::once_flag packs_;
  mutable std::shared_ptr<const kernels::PackedLinear> packed_;
};

PreparedFn prepare_linear(const OpDef& op, std::span<const Tensor> constants, const Attrs& attrs) {
  if (!constants[1].defined()) return nullptr;
  return [linear = std::make_shared<const ConstantLinear>(op, constants[1], constants[2], attrs)](
             std::span<const Tensor> operands) { return linear->run(operands); };
}

[[maybe_unused]] const OpDef* const kChannelsLast[] = {
    &register_op(
        {.name = "conv2d_channels_last",
         .schema = "(Tensor input, Tensor weight, Tensor? bias=None, Tensor? residual=None, int[] stride=1, "
                   "int[] padding=0, int[] dilation=1, int groups=1, str activation='none') -> Tensor",
         .dtypes = dtype_bit(DType::F32) | dtype_bit(DType::BF16),
         .doc =
             "activation(conv2d(input, weight, bias) + residual) of input f32 or bf16 [batch, height, width, "
             "channels], "
             "weight [out, in / groups, kernel height, kernel width]; the result is channels-last, too. Sums "
             "are float32 and rounded once. "
             "activation: none, relu, relu6, hardswish, hardsigmoid, silu, gelu_erf, gelu_tanh.",
         .infer = infer_conv,
         .eager = eager_conv,
         .prepare = prepare_conv}),
    &register_op({.name = "linear_fused",
                  .schema = "(Tensor input, Tensor weight, Tensor? bias=None, Tensor? residual=None, "
                            "str activation='none') -> Tensor",
                  .dtypes = dtype_bit(DType::F32),
                  .doc = "activation(input f32[*, k] @ weight f32[n, k].T + bias + residual).",
                  .infer = infer_linear,
                  .eager = eager_linear,
                  .prepare = prepare_linear}),
};

}  // namespace
}  // namespace weft::ops
