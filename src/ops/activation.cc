// Activation functions of neural networks.
#include <fmt/format.h>

#include <limits>

#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/define.h"

namespace weft::ops {
namespace {

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

constexpr auto softplus_of = [](auto x) { return maximum(x, constant_like(0, x)) + log1p(exp(-abs(x))); };
constexpr auto clamp_of = [](auto x, double low, double high) {
  return minimum(maximum(x, constant_like(low, x)), constant_like(high, x));
};

[[maybe_unused]] const OpDef* const kRectifiers[] = {
    &unary<kReal>("relu", DTypeRule::Same, [](auto x) { return maximum(x, constant_like(0, x)); },
                  {.doc = "max(x, 0); NaN for NaN.", .numpy = "numpy.maximum(x, 0)"}),
    &unary<kReal>("relu6", DTypeRule::Same, [](auto x) { return clamp_of(x, 0, 6); },
                  {.doc = "min(max(x, 0), 6).", .numpy = "numpy.clip(x, 0, 6)", .low = -3, .high = 9}),
    &unary<kFloats>("leaky_relu", DTypeRule::FloatOnly,
                    [](auto x, const Params& p) { return select(x > 0.0, x, x * param_like(p, 0, x)); },
                    {.doc = "x for x > 0, else negative_slope * x.",
                     .numpy = "numpy.where(x > 0, x, x * negative_slope)",
                     .error = {1, 1},
                     .params = ", float negative_slope=0.01"}),
    &unary<kFloats>(
        "elu", DTypeRule::FloatOnly,
        [](auto x, const Params& p) { return select(x > 0.0, x, expm1(x) * param_like(p, 0, x)); },
        {.doc = "x for x > 0, else alpha * (exp(x) - 1).",
         .numpy = "numpy.where(x > 0, x, alpha * numpy.expm1(x))",
         .error = {2, 2},
         .params = ", float alpha=1.0"}),
    &unary<kFloats>("celu", DTypeRule::FloatOnly,
                    [](auto x, const Params& p) {
                      const auto alpha = param_like(p, 0, x);
                      return select(x > 0.0, x, alpha * expm1(x / alpha));
                    },
                    {.doc = "x for x > 0, else alpha * (exp(x / alpha) - 1).",
                     .numpy = "numpy.where(x > 0, x, alpha * numpy.expm1(x / alpha))",
                     .error = {3, 3},
                     .params = ", float alpha=1.0"}),
    &unary<kFloats>(
        "selu", DTypeRule::FloatOnly,
        [](auto x) { return select(x > 0.0, x * kSeluScale, expm1(x) * (kSeluScale * kSeluAlpha)); },
        {.doc = "scale * (x for x > 0, else alpha * (exp(x) - 1)). source: Klambauer et al. 2017.",
         .numpy =
             "1.0507009873554804934193349852946 * numpy.where(x > 0, x, 1.6732632423543772848170429916717 * "
             "numpy.expm1(x))",
         .error = {3, 3}}),
    &unary<kFloats>("replace_nonfinite", DTypeRule::FloatOnly,
                    [](auto x, const Params& p) {
                      const auto finite = select(x == kUnbounded, param_like(p, 1, x),
                                                 select(x == -kUnbounded, param_like(p, 2, x), x));
                      return select(isnan(x), param_like(p, 0, x), finite);
                    },
                    {.doc = "x with NaN replaced by nan and infinities by posinf and neginf.",
                     .numpy = "numpy.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)",
                     .params = ", float nan=0.0, float posinf=1.0, float neginf=-1.0"}),
    &unary<kReal>(
        "threshold", DTypeRule::Same,
        [](auto x, const Params& p) { return select(x > param_like(p, 0, x), x, param_like(p, 1, x)); },
        {.doc = "x for x > threshold, else value.",
         .numpy = "numpy.where(x > threshold, x, value)",
         .params = ", Scalar threshold, Scalar value"}),
    &unary<kReal>(
        "hardtanh", DTypeRule::Same,
        [](auto x, const Params& p) { return minimum(maximum(x, param_like(p, 0, x)), param_like(p, 1, x)); },
        {.doc = "x clamped to [min_val, max_val].",
         .numpy = "numpy.clip(x, min_val, max_val)",
         .params = ", Scalar min_val=-1, Scalar max_val=1"}),
};

[[maybe_unused]] const OpDef* const kSmooth[] = {
    &unary<kFloats>("softplus", DTypeRule::FloatOnly,
                    [](auto x, const Params& p) {
                      if (p.is(0, 1)) return select(x > param_like(p, 1, x), x, softplus_of(x));
                      const auto scaled = x * param_like(p, 0, x);
                      return select(scaled > param_like(p, 1, x), x,
                                    softplus_of(scaled) / param_like(p, 0, x));
                    },
                    {.doc = "log(1 + exp(beta x)) / beta, without overflow; x where beta x > threshold.\n"
                            "source: max(x, 0) + log1p(exp(-|x|)).",
                     .numpy = "numpy.where(x * beta > threshold, x, numpy.logaddexp(0, x * beta) / beta)",
                     .error = {4, 4},
                     .low = -15,
                     .high = 30,
                     .params = ", float beta=1.0, float threshold=20.0"}),
    &unary<kFloats>("silu", DTypeRule::FloatOnly, [](auto x) { return x / (1.0 + exp(-x)); },
                    {.doc = "x * sigmoid(x). source: Elfwing et al. 2017.",
                     .numpy = "x / (1 + numpy.exp(-x))",
                     .error = {3, 3},
                     .low = -30,
                     .high = 30,
                     .aliases = {"swish"}}),
    &unary<kFloats>(
        "gelu_erf", DTypeRule::FloatOnly, [](auto x) { return x * 0.5 * (1.0 + erf(x * M_SQRT1_2)); },
        {.doc = "x * Phi(x), Phi the normal distribution function. error: on [-1, 3]; absolute below.",
         .numpy = "x * 0.5 * numpy.vectorize(math.erfc)(-x / numpy.sqrt(2))",
         .error = {5, 5},
         .low = -1}),
    &unary<kFloats>("gelu_tanh", DTypeRule::FloatOnly,
                    [](auto x) {
                      const auto inner = (x + x * x * x * 0.044715) * 0.79788456080286535588;
                      return x * 0.5 * (1.0 + tanh(inner));
                    },
                    {.doc = "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3))). error: absolute, for x < -1.",
                     .numpy = "0.5 * x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3)))",
                     .error = {16, 16},
                     .low = -1,
                     .high = 5}),
    &unary<kFloats>("hardsigmoid", DTypeRule::FloatOnly, [](auto x) { return clamp_of(x + 3.0, 0, 6) / 6.0; },
                    {.doc = "clamp(x + 3, 0, 6) / 6. error: absolute, near -3.",
                     .numpy = "numpy.clip(x + 3, 0, 6) / 6",
                     .error = {2, 2},
                     .low = -2,
                     .high = 9}),
    &unary<kFloats>("hardswish", DTypeRule::FloatOnly,
                    [](auto x) { return x * clamp_of(x + 3.0, 0, 6) / 6.0; },
                    {.doc = "x * hardsigmoid(x). error: absolute, near -3.",
                     .numpy = "x * numpy.clip(x + 3, 0, 6) / 6",
                     .error = {3, 3},
                     .low = -2,
                     .high = 9}),
    &unary<kFloats>("mish", DTypeRule::FloatOnly, [](auto x) { return x * tanh(softplus_of(x)); },
                    {.doc = "x * tanh(softplus(x)). source: Misra 2019.",
                     .numpy = "x * numpy.tanh(numpy.logaddexp(0, x))",
                     .error = {5, 5},
                     .low = -15,
                     .high = 15}),
    &unary<kFloats>("softsign", DTypeRule::FloatOnly, [](auto x) { return x / (1.0 + abs(x)); },
                    {.doc = "x / (1 + |x|).", .numpy = "x / (1 + numpy.abs(x))", .error = {1.5, 1.5}}),
    &unary<kFloats>("logsigmoid", DTypeRule::FloatOnly,
                    [](auto x) { return minimum(x, constant_like(0, x)) - log1p(exp(-abs(x))); },
                    {.doc = "log(sigmoid(x)), without overflow.",
                     .numpy = "-numpy.logaddexp(0, -x)",
                     .error = {4, 4},
                     .low = -15,
                     .high = 15}),
};

[[maybe_unused]] const OpDef* const kShrinking[] = {
    &unary<kFloats>(
        "hardshrink", DTypeRule::FloatOnly,
        [](auto x, const Params& p) { return select(abs(x) <= param_like(p, 0, x), constant_like(0, x), x); },
        {.doc = "0 for |x| <= lambd, else x.",
         .numpy = "numpy.where(numpy.abs(x) <= lambd, 0, x)",
         .params = ", float lambd=0.5"}),
    &unary<kFloats>("softshrink", DTypeRule::FloatOnly,
                    [](auto x, const Params& p) {
                      const auto lambd = param_like(p, 0, x);
                      return select(x > lambd, x - lambd, select(x < -lambd, x + lambd, x * 0.0));
                    },
                    {.doc = "x moved toward 0 by lambd, 0 within it.",
                     .numpy = "numpy.where(x > lambd, x - lambd, numpy.where(x < -lambd, x + lambd, x * 0))",
                     .error = {0.5, 0.5},
                     .params = ", float lambd=0.5"}),
    &unary<kFloats>("tanhshrink", DTypeRule::FloatOnly, [](auto x) { return x - tanh(x); },
                    {.doc = "x - tanh(x). error: absolute, near 0.",
                     .numpy = "x - numpy.tanh(x)",
                     .error = {4, 4},
                     .low = 2,
                     .high = 9}),
};

// ---- written over other operators
// ------------------------------------------------------------------------------
using Tensors = std::vector<Tensor>;

Tensors glu(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  WEFT_CHECK(x.dim() > 0,
             fmt::format("{}: expected an input of at least 1 dimension, got {}", op.name, type_of(x).str()));
  const int64_t dim = normalize_dim(op.name, int_arg(args.attrs, "dim"), x.dim());
  const Sym size = sym_shape(x)[static_cast<size_t>(dim)], half = floor_div(size, Sym(2));
  WEFT_CHECK(sym_eq(half + half, size),
             fmt::format("{}: the halved dimension must have an even size: dimension {} of {}", op.name, dim,
                         type_of(x).str()));
  const Tensor value = build::slice(x, dim, Sym(0), half), gate = build::slice(x, dim, half, size);
  return {build::mul(value, invoke("sigmoid", {gate}))};
}

Tensors prelu(const OpDef& op, const OpArgs& args) {
  const Tensor &x = args.tensors[0], &weight = args.tensors[1];
  const auto got = [&] {
    return describe_operands(op, std::vector<TensorType>{type_of(x), type_of(weight)});
  };
  WEFT_CHECK_TYPE(is_floating(x.dtype()) && x.dtype() == weight.dtype(),
                  fmt::format("{}: expected floating operands of one dtype{}", op.name, got()));
  WEFT_CHECK(weight.dim() <= 1,
             fmt::format("{}: expected a weight of at most 1 dimension{}", op.name, got()));
  const Sym count = product(sym_shape(weight));
  SymShape view(static_cast<size_t>(x.dim()), Sym(1));
  if (sym_ne(count, Sym(1))) {
    const Sym channels = x.dim() > 1 ? sym_shape(x)[1] : Sym(1);
    WEFT_CHECK(x.dim() > 0 && sym_eq(count, channels),
               fmt::format("{}: weight must have 1 element, or one per channel: expected {}{}", op.name,
                           channels.str(), got()));
    view[1] = count;
  }
  const Tensor slope = build::reshape(weight, view);
  return {invoke("where", {invoke("gt", {x, Scalar(0)}), x, build::mul(slope, x)})};
}

Tensors softmin(const OpDef&, const OpArgs& args) {
  return {call1("softmax", {call1("neg", {args.tensors[0]})}, {{"dim", args.attrs.at("dim")}})};
}

Tensors bilinear(const OpDef& op, const OpArgs& args) {
  const Tensor &a = args.tensors[0], &b = args.tensors[1], &weight = args.tensors[2], &bias = args.tensors[3];
  SymShape shape = sym_shape(a), other = sym_shape(b);
  const SymShape sizes = sym_shape(weight);
  const auto got = [&] {
    return describe_operands(
        op, std::vector<TensorType>{type_of(a), type_of(b), type_of(weight),
                                    bias.defined() ? type_of(bias) : TensorType{.absent = true}});
  };
  bool fits = sizes.size() == 3 && !shape.empty() && shape.size() == other.size() &&
              sym_eq(shape.back(), sizes[1]) && sym_eq(other.back(), sizes[2]);
  for (size_t d = 0; fits && d + 1 < shape.size(); ++d) fits = sym_eq(shape[d], other[d]);
  fits = fits && (!bias.defined() || (bias.dim() == 1 && sym_eq(sym_shape(bias)[0], sizes[0])));
  WEFT_CHECK(fits,
             fmt::format("{}: expected input1[*, in1], input2[*, in2], weight[out, in1, in2] and bias[out]{}",
                         op.name, got()));
  shape.pop_back();
  const Sym rows = product(shape);
  // [rows, out, in2]: input1 times weight, then the products with input2 added up
  const Tensor left = build::reshape(build::permute(weight, {1, 0, 2}), {sizes[1], sizes[0] * sizes[2]});
  const Tensor partial = build::reshape(call1("matmul", {build::reshape(a, {rows, sizes[1]}), left}),
                                        {rows, sizes[0], sizes[2]});
  Tensor result = build::sum(build::mul(partial, build::reshape(b, {rows, Sym(1), sizes[2]})), {2});
  if (bias.defined()) result = build::add(result, bias);
  shape.push_back(sizes[0]);
  return {build::reshape(result, shape)};
}

[[maybe_unused]] const OpDef* const kActivationComposites[] = {
    &define_composite("glu", "(Tensor input, int dim=-1) -> Tensor",
                      "The first half along dim times sigmoid of the second. raises: ValueError for an odd "
                      "size. source: Dauphin et al. 2016.",
                      "", glu),
    &define_composite("prelu", "(Tensor input, Tensor weight) -> Tensor",
                      "x for x > 0, else weight * x, with one weight, or one per channel (dimension 1). "
                      "source: He et al. 2015.",
                      "", prelu),
    &define_composite("softmin", "(Tensor input, int dim=-1) -> Tensor", "softmax(-input) along dim.",
                      "numpy.exp(-input) / numpy.sum(numpy.exp(-input), axis=dim, keepdims=True)", softmin),
    &define_composite("bilinear",
                      "(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
                      "sum_ij input1[*, i] weight[o, i, j] input2[*, j] + bias[o]: [*, out].", "", bilinear),
};

}  // namespace
}  // namespace weft::ops
