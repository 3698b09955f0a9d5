// Losses and distances, written over pointwise operators and reductions so that the compiler fuses them.
#include <fmt/format.h>

#include <algorithm>

#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/composite.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;

// ---- reductions
// ----------------------------------------------------------------------------------------------
enum class LossReduction : uint8_t { None, Mean, Sum, BatchMean };

LossReduction reduction_of(const OpDef& op, const OpArgs& args, bool batch_mean = false) {
  const std::string& given = args.attrs.get<std::string>("reduction");
  if (given == "none") return LossReduction::None;
  if (given == "mean") return LossReduction::Mean;
  if (given == "sum") return LossReduction::Sum;
  WEFT_CHECK(batch_mean && given == "batchmean",
             fmt::format("{}: reduction: expected 'none', 'mean' or 'sum', got '{}'", op.name, given));
  return LossReduction::BatchMean;
}

Tensor sum_of_all(const Tensor& x) { return call1("sum", {x}, {{"dtype", x.dtype()}}); }

Tensor reduce(const Tensor& loss, LossReduction reduction) {
  switch (reduction) {
    case LossReduction::None: return loss;
    case LossReduction::Sum: return sum_of_all(loss);
    case LossReduction::Mean: return call1("mean", {loss});
    case LossReduction::BatchMean:
      return invoke("true_divide", {sum_of_all(loss), size_operand(sym_shape(loss)[0])});
  }
  return loss;
}

// ---- between elements
// ------------------------------------------------------------------------------------------
Tensor distance(const OpArgs& args) { return call1("abs", {build::sub(args.tensors[0], args.tensors[1])}); }

Tensor squared(const Tensor& x) { return build::mul(x, x); }

Tensors mse_loss(const OpDef& op, const OpArgs& args) {
  return {reduce(squared(build::sub(args.tensors[0], args.tensors[1])), reduction_of(op, args))};
}

Tensors l1_loss(const OpDef& op, const OpArgs& args) {
  return {reduce(distance(args), reduction_of(op, args))};
}

// |d| - offset from `limit` on, d**2 * curvature below.
Tensor quadratic_below(const Tensor& d, double limit, double curvature, double slope, double offset) {
  const Tensor linear = build::sub(build::mul(d, Scalar(slope)), Scalar(offset));
  return invoke("where",
                {invoke("lt", {d, Scalar(limit)}), build::mul(squared(d), Scalar(curvature)), linear});
}

Tensors smooth_l1_loss(const OpDef& op, const OpArgs& args) {
  const double beta = float_arg(args.attrs, "beta");
  WEFT_CHECK(beta >= 0, fmt::format("{}: beta must not be negative, got {}", op.name, beta));
  if (beta == 0) return l1_loss(op, args);
  return {reduce(quadratic_below(distance(args), beta, 0.5 / beta, 1, 0.5 * beta), reduction_of(op, args))};
}

Tensors huber_loss(const OpDef& op, const OpArgs& args) {
  const double delta = float_arg(args.attrs, "delta");
  WEFT_CHECK(delta > 0, fmt::format("{}: delta must be positive, got {}", op.name, delta));
  return {reduce(quadratic_below(distance(args), delta, 0.5, delta, 0.5 * delta * delta),
                 reduction_of(op, args))};
}

Tensors kl_div(const OpDef& op, const OpArgs& args) {
  const LossReduction reduction = reduction_of(op, args, true);
  const Tensor &input = args.tensors[0], &target = args.tensors[1];
  const bool log_target = args.attrs.get_bool("log_target");
  const Tensor loss = log_target ? build::mul(call1("exp", {target}), build::sub(target, input))
                                 : build::sub(invoke("xlogy", {target, target}), build::mul(target, input));
  return {reduce(loss, reduction)};
}

// ---- binary cross entropy
// --------------------------------------------------------------------------------------
void check_same_size(const OpDef& op, const OpArgs& args) {
  const SymShape input = sym_shape(args.tensors[0]), target = sym_shape(args.tensors[1]);
  WEFT_CHECK(input.size() == target.size() && std::equal(input.begin(), input.end(), target.begin(), sym_eq),
             fmt::format("{}: input and target must have one shape{}", op.name, describe_operands(op, args)));
  WEFT_CHECK_TYPE(
      is_floating(args.tensors[0].dtype()) && is_floating(args.tensors[1].dtype()),
      fmt::format("{}: expected floating input and target{}", op.name, describe_operands(op, args)));
}

Tensor weighted(const Tensor& loss, const Tensor& weight) {
  return weight.defined() ? build::mul(loss, weight) : loss;
}

Tensors binary_cross_entropy(const OpDef& op, const OpArgs& args) {
  check_same_size(op, args);
  const Tensor &x = args.tensors[0], &target = args.tensors[1];
  if (!x.is_traced() && x.numel() > 0) {
    const Tensor outside =
        invoke("logical_not",
               {invoke("logical_and", {invoke("ge", {x, Scalar(0.0)}), invoke("le", {x, Scalar(1.0)})})});
    WEFT_CHECK(!call1("any", {outside}).item().to_bool(),
               fmt::format("{}: all elements of input should be between 0 and 1{}", op.name,
                           describe_operands(op, args)));
  }
  // The logarithms stop at -100, so that the loss stays finite.
  const Tensor yes = invoke("maximum", {call1("log", {x}), Scalar(-100.0)});
  const Tensor no = invoke("maximum", {call1("log1p", {call1("neg", {x})}), Scalar(-100.0)});
  const Tensor loss = build::sub(build::mul(build::sub(target, Scalar(1.0)), no), build::mul(target, yes));
  return {reduce(weighted(loss, args.tensors[2]), reduction_of(op, args))};
}

Tensors binary_cross_entropy_with_logits(const OpDef& op, const OpArgs& args) {
  check_same_size(op, args);
  const Tensor &x = args.tensors[0], &target = args.tensors[1], &positive = args.tensors[3];
  // -log(sigmoid(x)), without overflow
  Tensor cost = call1("neg", {call1("logsigmoid", {x})});
  if (positive.defined()) {
    const Tensor factor = build::add(build::mul(build::sub(positive, Scalar(1.0)), target), Scalar(1.0));
    cost = build::mul(cost, factor);
  }
  const Tensor loss = build::add(build::mul(build::sub(Scalar(1.0), target), x), cost);
  return {reduce(weighted(loss, args.tensors[2]), reduction_of(op, args))};
}

// ---- classes
// ---------------------------------------------------------------------------------------------------
int64_t class_dim(const Tensor& x) { return x.dim() == 1 ? 0 : 1; }

// [C] seen along the classes of x.
Tensor along_classes(const Tensor& weight, const Tensor& x) {
  SymShape view(static_cast<size_t>(x.dim()), Sym(1));
  view[static_cast<size_t>(class_dim(x))] = sym_shape(x)[static_cast<size_t>(class_dim(x))];
  return build::reshape(weight, view);
}

void check_classes(const OpDef& op, const OpArgs& args) {
  const Tensor &x = args.tensors[0], &target = args.tensors[1], &weight = args.tensors[2];
  WEFT_CHECK_TYPE(is_floating(x.dtype()) && target.dtype() == DType::I64,
                  fmt::format("{}: expected a floating input and int64 class numbers{}", op.name,
                              describe_operands(op, args)));
  WEFT_CHECK(x.dim() >= 1, fmt::format("{}: expected an input of at least 1 dimension{}", op.name,
                                       describe_operands(op, args)));
  SymShape expected = sym_shape(x);
  expected.erase(expected.begin() + class_dim(x));
  const SymShape given = sym_shape(target);
  WEFT_CHECK(
      given.size() == expected.size() && std::equal(given.begin(), given.end(), expected.begin(), sym_eq),
      fmt::format("{}: expected target of shape {}, got {}{}", op.name, weft::str(expected), weft::str(given),
                  describe_operands(op, args)));
  if (!weight.defined()) return;
  WEFT_CHECK(
      weight.dim() == 1 && sym_eq(sym_shape(weight)[0], sym_shape(x)[static_cast<size_t>(class_dim(x))]),
      fmt::format("{}: weight must have one element per class{}", op.name, describe_operands(op, args)));
}

// What the losses over class numbers share: the classes to look up, which targets count and how much.
struct Targets {
  Tensor classes;  // target with the ignored ones replaced by 0, and invalid ones by one that gather refuses
  Tensor counted;  // bool
  Tensor weights;  // of every target, 0 for the ignored

  Targets(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index) {
    const Operand count = size_operand(sym_shape(x)[static_cast<size_t>(class_dim(x))]);
    counted = invoke("ne", {target, Scalar(ignore_index)});
    const Tensor known = invoke("where", {counted, target, Scalar(0)});
    classes = invoke("where", {invoke("lt", {known, Scalar(0)}), count, known});
    weights = build::cast(counted, x.dtype());
    if (weight.defined())
      weights = build::mul(weights, call1("gather_nd", {build::cast(weight, x.dtype()), classes}));
  }

  // The element of x at every target's class.
  Tensor pick(const Tensor& x) const {
    const int64_t dim = class_dim(x);
    return build::squeeze(call1("gather", {x, build::unsqueeze(classes, dim)}, {{"dim", Sym(dim)}}), dim);
  }
};

// Where nothing counts, 0 whatever the logarithm is.
Tensor where_counted(const Targets& targets, const Tensor& loss) {
  return invoke("where", {targets.counted, loss, Scalar(0.0)});
}

Tensor reduce_weighted(const Tensor& loss, const Tensor& weights, LossReduction reduction) {
  if (reduction == LossReduction::Mean) return invoke("true_divide", {sum_of_all(loss), sum_of_all(weights)});
  return reduce(loss, reduction);
}

Tensor negative_picked(const Tensor& log_probabilities, const Targets& targets) {
  return where_counted(targets, build::mul(call1("neg", {targets.pick(log_probabilities)}), targets.weights));
}

Tensors nll_loss(const OpDef& op, const OpArgs& args) {
  check_classes(op, args);
  const Tensor& x = args.tensors[0];
  const Targets targets(x, args.tensors[1], args.tensors[2], int_arg(args.attrs, "ignore_index"));
  return {reduce_weighted(negative_picked(x, targets), targets.weights, reduction_of(op, args))};
}

Tensor log_softmax(const Tensor& x) { return call1("log_softmax", {x}, {{"dim", Sym(class_dim(x))}}); }

// -sum of the log probabilities over the classes, weighted
Tensor sum_over_classes(const Tensor& x, const Tensor& weight) {
  const Tensor terms = weight.defined() ? build::mul(x, along_classes(weight, x)) : x;
  return call1("neg", {build::sum(terms, {class_dim(x)})});
}

Tensor class_numbers_loss(const OpDef& op, const OpArgs& args, const Tensor& x, double smoothing,
                          LossReduction reduction) {
  check_classes(op, args);
  const Targets targets(x, args.tensors[1], args.tensors[2], int_arg(args.attrs, "ignore_index"));
  const Tensor log_probabilities = log_softmax(x);
  Tensor loss = negative_picked(log_probabilities, targets);
  if (smoothing > 0) {
    const Tensor uniform = where_counted(targets, sum_over_classes(log_probabilities, args.tensors[2]));
    const Tensor share =
        invoke("true_divide", {uniform, size_operand(sym_shape(x)[static_cast<size_t>(class_dim(x))])});
    loss = build::add(build::mul(loss, Scalar(1 - smoothing)), build::mul(share, Scalar(smoothing)));
  }
  return reduce_weighted(loss, targets.weights, reduction);
}

Tensor probabilities_loss(const OpDef& op, const OpArgs& args, const Tensor& x, double smoothing,
                          LossReduction reduction) {
  check_same_size(op, args);
  const size_t dim = static_cast<size_t>(class_dim(x));
  SymShape shape = sym_shape(x);
  Tensor target = args.tensors[1];
  if (smoothing > 0) {
    const Tensor share =
        invoke("true_divide", {Tensor::scalar(Scalar(smoothing), target.dtype()), size_operand(shape[dim])});
    target = build::add(build::mul(target, Scalar(1 - smoothing)), share);
  }
  const Tensor loss = sum_over_classes(build::mul(log_softmax(x), target), args.tensors[2]);
  if (reduction != LossReduction::Mean) return reduce(loss, reduction);
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return invoke("true_divide", {sum_of_all(loss), size_operand(product(shape))});
}

Tensors cross_entropy(const OpDef& op, const OpArgs& args) {
  const Tensor& given = args.tensors[0];
  const double smoothing = float_arg(args.attrs, "label_smoothing");
  WEFT_CHECK(smoothing >= 0 && smoothing <= 1,
             fmt::format("{}: label_smoothing must be between 0 and 1, got {}", op.name, smoothing));
  WEFT_CHECK_TYPE(is_floating(given.dtype()),
                  fmt::format("{}: expected a floating input{}", op.name, describe_operands(op, args)));
  WEFT_CHECK(given.dim() >= 1, fmt::format("{}: expected an input of at least 1 dimension{}", op.name,
                                           describe_operands(op, args)));
  const Tensor x = build::cast(given, compute_dtype(given.dtype()));
  const LossReduction reduction = reduction_of(op, args);
  const bool probabilities = is_floating(args.tensors[1].dtype());
  const Tensor loss = probabilities ? probabilities_loss(op, args, x, smoothing, reduction)
                                    : class_numbers_loss(op, args, x, smoothing, reduction);
  return {build::cast(loss, given.dtype())};
}

// ---- between vectors
// -------------------------------------------------------------------------------------------
Tensor norm_along(const Tensor& x, double order, const Attr& dim, bool keepdim) {
  return call1("vector_norm", {x},
               {{"ord", order}, {"dim", SymShape{std::get<Sym>(dim)}}, {"keepdim", keepdim}});
}

Tensors cosine_similarity(const OpDef& op, const OpArgs& args) {
  const SymShape shapes[] = {sym_shape(args.tensors[0]), sym_shape(args.tensors[1])};
  const SymShape shape = broadcast_shapes(op.name, shapes);
  const DType dtype = promote_types(args.tensors[0].dtype(), args.tensors[1].dtype(), args.rules);
  WEFT_CHECK_TYPE(is_floating(dtype),
                  fmt::format("{}: expected floating operands{}", op.name, describe_operands(op, args)));
  const int64_t dim = normalize_dim(op.name, int_arg(args.attrs, "dim"), static_cast<int64_t>(shape.size()));
  const Scalar eps(float_arg(args.attrs, "eps"));
  // 16 bits hold norms, quotients and products, as PyTorch's do.
  const auto rounded = [&](const Tensor& x) {
    return build::cast(build::cast(x, dtype), compute_dtype(dtype));
  };
  const auto unit = [&](const Tensor& given) {
    const Tensor x = build::expand(rounded(given), shape);
    const Tensor norm = rounded(norm_along(x, 2, Sym(dim), true));
    return rounded(invoke("true_divide", {x, invoke("maximum", {norm, eps})}));
  };
  const Tensor products = rounded(build::mul(unit(args.tensors[0]), unit(args.tensors[1])));
  return {build::cast(build::sum(products, {dim}), dtype)};
}

Tensors pairwise_distance(const OpDef&, const OpArgs& args) {
  const Tensor difference =
      build::add(build::sub(args.tensors[0], args.tensors[1]), Scalar(float_arg(args.attrs, "eps")));
  return {norm_along(difference, float_arg(args.attrs, "p"), Sym(-1), args.attrs.get_bool("keepdim"))};
}

constexpr const char* kReduced = "(Tensor input, Tensor target, *, str reduction='mean') -> Tensor";

[[maybe_unused]] const OpDef* const kLossOps[] = {
    &define_composite("mse_loss", kReduced, "(input - target)**2; reduction: 'none', their 'mean' or 'sum'.",
                      "numpy.mean((input - target)**2)", mse_loss),
    &define_composite("l1_loss", kReduced, "|input - target|; reduction: 'none', their 'mean' or 'sum'.",
                      "numpy.mean(numpy.abs(input - target))", l1_loss),
    &define_composite("smooth_l1_loss",
                      "(Tensor input, Tensor target, *, str reduction='mean', float beta=1.0) -> Tensor",
                      "d = |input - target|: d**2 / (2 beta) below beta, else d - beta / 2. raises: "
                      "ValueError for a negative beta.",
                      "", smooth_l1_loss),
    &define_composite("huber_loss",
                      "(Tensor input, Tensor target, *, str reduction='mean', float delta=1.0) -> Tensor",
                      "d = |input - target|: d**2 / 2 below delta, else delta * (d - delta / 2). raises: "
                      "ValueError unless delta > 0.",
                      "", huber_loss),
    &define_composite(
        "kl_div", "(Tensor input, Tensor target, *, str reduction='mean', bool log_target=False) -> Tensor",
        "target * (log(target) - input), 0 where target is 0; log_target: exp(target) * (target - input).\n"
        "reduction: also 'batchmean', the sum over the first dimension's size.",
        "", kl_div),
    &define_composite(
        "binary_cross_entropy",
        "(Tensor input, Tensor target, Tensor? weight=None, *, str reduction='mean') -> Tensor",
        "-weight * (target * log(input) + (1 - target) * log(1 - input)), logarithms not below -100.\n"
        "raises: ValueError for shapes that differ, or an input outside [0, 1] (not checked in graphs).",
        "", binary_cross_entropy),
    &define_composite(
        "binary_cross_entropy_with_logits",
        "(Tensor input, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, *, str "
        "reduction='mean') -> Tensor",
        "binary_cross_entropy of sigmoid(input), without overflow; pos_weight is the weight of target in it.",
        "", binary_cross_entropy_with_logits),
    &define_composite("nll_loss",
                      "(Tensor input, Tensor target, Tensor? weight=None, *, int ignore_index=-100, str "
                      "reduction='mean') -> Tensor",
                      "-weight[target] * input[n, target, …] of log probabilities input[N, C, …] or [C] and "
                      "int64 class numbers; 0 where\n"
                      "target is ignore_index. The mean is over the weights. raises: IndexError for another "
                      "target outside [0, C).",
                      "", nll_loss),
    &define_composite(
        "cross_entropy",
        "(Tensor input, Tensor target, Tensor? weight=None, *, int ignore_index=-100, str reduction='mean', "
        "float label_smoothing=0.0) -> Tensor",
        "nll_loss of log_softmax(input) along the classes; or for floating target[N, C, …] of class "
        "probabilities\n"
        "-sum(weight * target * log_softmax(input)). label_smoothing: the share of the target that is spread "
        "over all classes.",
        "", cross_entropy),
    &define_composite("cosine_similarity", "(Tensor x1, Tensor x2, int dim=1, float eps=1e-8) -> Tensor",
                      "sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps)) along dim, with 2-norms.", "",
                      cosine_similarity),
    &define_composite("pairwise_distance",
                      "(Tensor x1, Tensor x2, float p=2.0, float eps=1e-6, bool keepdim=False) -> Tensor",
                      "vector_norm(x1 - x2 + eps, p) along the last dimension.",
                      "numpy.linalg.norm(x1 - x2 + eps, p, axis=-1, keepdims=keepdim)", pairwise_distance),
};

}  // namespace
}  // namespace weft::ops
