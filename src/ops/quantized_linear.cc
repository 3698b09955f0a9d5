// Linear layers with int8, int4 and 16-bit weights. Compiled graphs pack weights that are constants once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/cpu/packed_bfloat16.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "weft/parallel.h"
#include "weft/quantization.h"

namespace weft::ops {
namespace {

using Types = std::span<const TensorType>;
using Tensors = std::vector<Tensor>;
enum LinearOperand : size_t { kInput, kWeight, kScales, kBias, kResidual };

template <class T, size_t N>
T choice(const OpDef& op, const Attrs& attrs, const char* attribute,
         const std::array<std::pair<std::string_view, T>, N>& choices) {
  const std::string& wanted = attrs.get<std::string>(attribute);
  std::string names;
  for (const auto& [name, value] : choices) {
    if (name == wanted) return value;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
  }
  throw_error(ErrorKind::Value,
              fmt::format("{}: expected {} one of {}, got '{}'", op.name, attribute, names, wanted));
}

using kernels::RowActivation;

RowActivation activation_of(const OpDef& op, const Attrs& attrs) {
  return choice<RowActivation, 8>(op, attrs, "activation",
                                  {{{"none", RowActivation::None},
                                    {"relu", RowActivation::Relu},
                                    {"relu6", RowActivation::Relu6},
                                    {"hardswish", RowActivation::HardSwish},
                                    {"hardsigmoid", RowActivation::HardSigmoid},
                                    {"silu", RowActivation::Silu},
                                    {"gelu_erf", RowActivation::GeluErf},
                                    {"gelu_tanh", RowActivation::GeluTanh}}});
}

InputPrecision precision_of(const OpDef& op, const Attrs& attrs) {
  return choice<InputPrecision, 5>(op, attrs, "precision",
                                   {{{"auto", InputPrecision::Auto},
                                     {"float32", InputPrecision::Float32},
                                     {"int16", InputPrecision::Int16},
                                     {"int8", InputPrecision::Int8},
                                     {"bfloat16", InputPrecision::BFloat16}}});
}

bool is_row_dtype(DType dtype) { return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16; }

void check_dtypes(const OpDef& op, Types operands) {
  const DType weight = operands[kWeight].dtype;
  const bool quantized = weight == DType::I8 || weight == DType::U8;
  WEFT_CHECK_TYPE(
      is_row_dtype(operands[kInput].dtype) && (quantized || is_row_dtype(weight)),
      fmt::format(
          "{}: expected input of float32, float16 or bfloat16 and weight of these, int8 or uint8 (int4){}",
          op.name, describe_operands(op, operands)));
  const DType scales = weight == DType::I8 ? DType::F32 : DType::BF16;
  WEFT_CHECK_TYPE(operands[kScales].absent != quantized && (!quantized || operands[kScales].dtype == scales),
                  fmt::format("{}: {}{}", op.name,
                              quantized ? fmt::format("expected scales of {} with weight of {}", name(scales),
                                                      name(weight))
                                        : "floating weights take no scales",
                              describe_operands(op, operands)));
  WEFT_CHECK_TYPE(operands[kBias].absent || is_floating(operands[kBias].dtype),
                  fmt::format("{}: expected floating bias{}", op.name, describe_operands(op, operands)));
}

// Inputs of the layer.
Sym check_weight(const OpDef& op, Types operands, const Attrs& attrs) {
  const SymShape& weight = operands[kWeight].shape;
  if (weight.size() != 2) fail_for(op, operands, "expected weight of 2 dimensions");
  const SymShape& scales = operands[kScales].shape;
  const int64_t group = int_arg(attrs, "group_size");
  switch (operands[kWeight].dtype) {
    case DType::I8:
      if (scales.size() != 1 || sym_ne(scales[0], weight[0]))
        fail_for(op, operands, "expected scales [n] with weight [n, k]");
      return weight[1];
    case DType::U8: {
      if (group != 32 && group != 64 && group != 128 && group != 256)
        fail_for(op, operands,
                 fmt::format("expected group_size 32, 64, 128 or 256 with int4 weights, got {}", group));
      const Sym inputs = weight[1] * Sym(2), groups = floor_div(inputs + Sym(group - 1), Sym(group));
      if (scales.size() != 3 || sym_ne(scales[0], groups) || sym_ne(scales[1], weight[0]) ||
          sym_ne(scales[2], Sym(2)))
        fail_for(op, operands,
                 fmt::format("expected scales and zeros [k / {}, n, 2] with weight [n, k / 2]", group));
      return inputs;
    }
    default: return weight[1];
  }
}

std::vector<TensorType> infer_linear(const OpDef& op, Types operands, const Attrs& attrs) {
  check_dtypes(op, operands);
  const Sym inputs = check_weight(op, operands, attrs), outputs = operands[kWeight].shape[0];
  TensorType result = operands[kInput];
  if (result.shape.empty() || sym_ne(result.shape.back(), inputs))
    fail_for(op, operands, fmt::format("expected input [..., {}]", inputs.str()));
  result.shape.back() = outputs;
  const TensorType &bias = operands[kBias], &residual = operands[kResidual];
  if (!bias.absent && (bias.shape.size() != 1 || sym_ne(bias.shape[0], outputs)))
    fail_for(op, operands, fmt::format("expected bias [{}]", outputs.str()));
  if (!residual.absent) {
    bool same = residual.dtype == result.dtype && residual.shape.size() == result.shape.size();
    for (size_t d = 0; same && d < result.shape.size(); ++d)
      same = sym_eq(residual.shape[d], result.shape[d]);
    if (!same) fail_for(op, operands, fmt::format("expected residual of the result's type {}", result.str()));
  }
  activation_of(op, attrs), precision_of(op, attrs);
  return {result};
}

const uint16_t* half_bits(const Tensor& x) {
  return reinterpret_cast<const uint16_t*>(x.data_as<BFloat16>());
}

// What PackedLinear computes in its pass over the weights; other activations follow in a pass of their own.
std::optional<LinearActivation> own_activation(RowActivation activation) {
  switch (activation) {
    case RowActivation::None: return LinearActivation::None;
    case RowActivation::Relu: return LinearActivation::Relu;
    case RowActivation::Silu: return LinearActivation::Silu;
    case RowActivation::GeluTanh: return LinearActivation::GeluTanh;
    default: return std::nullopt;
  }
}

// A layer whose weights are packed once, in the form that the first call wants.
class ReadyLinear {
 public:
  ReadyLinear(const OpDef& op, std::span<const Tensor> constants, const Attrs& attrs)
      : weight_{.weight = constants[kWeight],
                .scales = constants[kScales],
                .group_size = constants[kWeight].dtype() == DType::U8 ? int_arg(attrs, "group_size") : 0,
                .bias = constants[kBias]},
        activation_(activation_of(op, attrs)),
        precision_(precision_of(op, attrs)) {}

  Tensor run(std::span<const Tensor> operands) const {
    const Tensor x = operands[kInput].contiguous();
    const Tensor residual = operands[kResidual].defined() ? operands[kResidual].contiguous() : Tensor();
    const bool halves = x.dtype() == DType::BF16 && weight_.weight.dtype() == DType::BF16 &&
                        (precision_ == InputPrecision::Auto || precision_ == InputPrecision::BFloat16);
    if (const kernels::BFloat16Kernels* const engine = halves ? kernels::bfloat16_kernels() : nullptr)
      return run_halves(*engine, x, residual);
    std::call_once(packs_, [&] { packed_ = PackedLinear(weight_); });
    if (const std::optional<LinearActivation> own = own_activation(activation_))
      return packed_(x, {*own, residual.defined() ? &residual : nullptr, precision_});
    return activated(packed_(x.to(DType::F32), {LinearActivation::None, nullptr, precision_}), residual,
                     x.dtype());
  }

 private:
  Tensor run_halves(const kernels::BFloat16Kernels& engine, const Tensor& x, const Tensor& residual) const {
    const int64_t n = weight_.weight.size(0), k = weight_.weight.size(1);
    std::call_once(packs_halves_, [&] {
      const Tensor bias = weight_.bias.defined() ? weight_.bias.to(DType::F32).contiguous() : Tensor();
      halves_ =
          std::make_unique<kernels::PackedBFloat16>(engine, n, k, half_bits(weight_.weight.contiguous()),
                                                    bias.defined() ? bias.data_as<float>() : nullptr);
    });
    Shape shape = x.shape();
    shape.back() = n;
    Tensor y = Tensor::empty(shape, DType::BF16);
    if (y.numel() > 0)
      halves_->run({.data = half_bits(x), .stride = k}, y.numel() / n,
                   {.activation = activation_,
                    .residual = residual.defined() ? half_bits(residual) : nullptr,
                    .residual_stride = n,
                    .y = reinterpret_cast<uint16_t*>(y.data_as<BFloat16>()),
                    .y_stride = n});
    return y;
  }

  // In float32, rounded once.
  Tensor activated(const Tensor& sums, const Tensor& residual, DType dtype) const {
    constexpr int64_t kStretch = 1024;
    const Tensor added = residual.defined() ? residual.to(DType::F32).contiguous() : Tensor();
    const Tensor y = Tensor::empty(sums.shape(), DType::F32);
    const kernels::FinishRowsFn finish = kernels::finish_rows();
    parallel_for(0, (sums.numel() + kStretch - 1) / kStretch, 16, [&](int64_t begin, int64_t end) {
      std::array<float, kStretch> some;
      for (int64_t i = begin * kStretch; i < std::min(sums.numel(), end * kStretch); i += kStretch) {
        const int64_t count = std::min(kStretch, sums.numel() - i);
        std::copy_n(sums.data_as<float>() + i, count, some.begin());
        std::fill(some.begin() + count, some.end(), 0.0f);
        finish({.rows = 1,
                .columns = count,
                .sums = some.data(),
                .sums_stride = kStretch,
                .integers = false,
                .row_scales = nullptr,
                .scales = nullptr,
                .bias = nullptr,
                .activation = activation_,
                .residual_first = false,
                .bfloat16 = false,
                .residual = added.defined() ? added.data_as<float>() + i : nullptr,
                .residual_stride = 0,
                .y = y.data_as<float>() + i,
                .y_stride = 0});
      }
    });
    return y.to(dtype);
  }

  const LinearWeight weight_;
  const RowActivation activation_;
  const InputPrecision precision_;
  mutable std::once_flag packs_, packs_halves_;
  mutable PackedLinear packed_;
  mutable std::unique_ptr<const kernels::PackedBFloat16> halves_;
};

Tensors eager_linear(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  return {ReadyLinear(op, operands, attrs).run(operands)};
}

PreparedFn prepare_linear(const OpDef& op, std::span<const Tensor> constants, const Attrs& attrs) {
  const Tensor& weight = constants[kWeight];
  if (!weight.defined() ||
      ((weight.dtype() == DType::I8 || weight.dtype() == DType::U8) && !constants[kScales].defined()))
    return nullptr;
  return [&op, attrs, has_bias = constants[kBias].defined(),
          linear = std::make_shared<const ReadyLinear>(op, constants, attrs)](
             std::span<const Tensor> operands) -> Tensors {
    if (operands[kBias].defined() != has_bias)
      return eager_linear(op, operands, attrs);  // a bias that is no constant
    return {linear->run(operands)};
  };
}

// ---- PyTorch's names
// -----------------------------------------------------------------------------------------
Tensors int8pack_mm(const OpDef&, const OpArgs& args) {
  const Tensor& scales = args.tensors[2];
  return call(get_op("linear_packed"),
              {{args.tensors[0], args.tensors[1], build::cast(scales, DType::F32), Tensor(), Tensor()}, {}});
}

Tensors int4pack_mm(const OpDef&, const OpArgs& args) {
  return call(get_op("linear_packed"),
              {{args.tensors[0], args.tensors[1], args.tensors[2], Tensor(), Tensor()},
               {{"group_size", args.attrs.at("qGroupSize")}}});
}

// Two numbers of an int32 matrix in each byte; bytes are already so.
Tensors convert_to_int4pack(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  WEFT_CHECK(x.dim() == 2 && (x.dtype() == DType::U8 || x.dtype() == DType::I32),
             fmt::format("{}: expected uint8 [n, k / 2] or int32 [n, k], got {}", op.name, type_of(x).str()));
  if (x.dtype() == DType::U8) return {x};
  WEFT_CHECK(sym_eq(floor_mod(sym_shape(x)[1], Sym(2)), Sym(0)),
             fmt::format("{}: expected an even number of columns, got {}", op.name, type_of(x).str()));
  const Tensor even = build::slice(x, 1, std::nullopt, std::nullopt, 2),
               odd = build::slice(x, 1, Sym(1), std::nullopt, 2);
  return {build::cast(build::add(build::mul(even, Scalar(int64_t{16})), odd), DType::U8)};
}

[[maybe_unused]] const OpDef* const kQuantizedLinearOps[] = {
    &register_op(
        {.name = "linear_packed",
         .schema = "(Tensor input, Tensor weight, Tensor? scales=None, Tensor? bias=None, Tensor? "
                   "residual=None, *, "
                   "int group_size=0, str activation='none', str precision='auto') -> Tensor",
         .doc =
             "activation(input[*, k] @ w[n, k].T + bias) + residual, where `weight` and `scales` stand for "
             "w:\n"
             "  float32, float16, bfloat16 [n, k], no scales   w = weight\n"
             "  int8 [n, k], float32 [n]                       w = weight * scales[:, None] (quantize_int8)\n"
             "  uint8 [n, k / 2], bfloat16 [k / g, n, 2]       int4 in groups of g = group_size "
             "(quantize_int4)\n"
             "input and result: float32, float16 or bfloat16; sums are float32 and rounded once.\n"
             "activation: none, relu, relu6, hardswish, hardsigmoid, silu, gelu_erf, gelu_tanh. precision: "
             "how input enters products with int8 and "
             "int4 weights:\n"
             "'float32'; 'int16', rounded to 2^-16 of the largest magnitude in each group of inputs; 'int8', "
             "to 2^-8; 'auto',\n"
             "int16 where the machine has an instruction for products of bytes, else float32; 'bfloat16', "
             "many "
             "rows rounded to it\n"
             "for bfloat16 weights on a machine that multiplies it faster. On tiles (AMX), 'auto' takes many "
             "inputs of int8 and bfloat16\n"
             "weights, and int4 weights of bfloat16 inputs, as two numbers of bfloat16 each, to 2^-17.\n"
             "error:  k * eps * sum(|x||w|) and, times sum(|w|), the rounding of the input.\n"
             "Compiled graphs pack constant weights once.",
         .infer = infer_linear,
         .eager = eager_linear,
         .prepare = prepare_linear}),
    &define_composite("_weight_int8pack_mm", "(Tensor x, Tensor weight, Tensor scales) -> Tensor",
                      "x[m, k] @ (int8 weight[n, k] * scales[:, None]).T: [m, n].", "", int8pack_mm),
    &define_composite("_weight_int4pack_mm",
                      "(Tensor x, Tensor weight, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
                      "x[m, k] @ w[n, k].T of weight u8[n, k / 2] and qScaleAndZeros bf16[k / qGroupSize, n, "
                      "2], as quantize_int4\n"
                      "gives them: [m, n].",
                      "", int4pack_mm),
    &define_composite("_convert_weight_to_int4pack", "(Tensor x, int innerKTiles=8) -> Tensor",
                      "int32 q[n, k] in [0, 15] as bytes u8[n, k / 2], the even column's in the high bits. "
                      "innerKTiles has no meaning here.",
                      "", convert_to_int4pack),
};

}  // namespace
}  // namespace weft::ops
