// Normalization layers, written over sums so that the compiler fuses them with what surrounds them; outside
// of graphs the common ones are one kernel. All compute in float32 for float16 and bfloat16, and return the
// input's dtype.
#include "kernels/cpu/norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/composite.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;

// The input in the dtype to compute in. Parameters have the input's dtype, or float32 beside a smaller one.
Tensor load(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  WEFT_CHECK_TYPE(is_floating(x.dtype()), fmt::format("{}: dtype not supported: expected floating, got {}{}",
                                                      op.name, name(x.dtype()), describe_operands(op, args)));
  const DType compute = compute_dtype(x.dtype());
  for (const Tensor& other : args.tensors) {
    WEFT_CHECK_TYPE(
        !other.defined() || other.dtype() == x.dtype() || other.dtype() == compute,
        fmt::format("{}: operands must have the input's dtype{}", op.name, describe_operands(op, args)));
  }
  return build::cast(x, compute);
}

// Nothing is traced, and there are elements to compute with.
bool runs_now(const OpArgs& args) {
  return std::all_of(args.tensors.begin(), args.tensors.end(), [](const Tensor& x) {
    return !x.defined() || (!x.is_traced() && x.device() == Device());
  });
}

// A parameter as kernels read it.
Tensor parameter_for(const Tensor& x, const Tensor& parameter) {
  return parameter.defined() ? parameter.to(x.dtype()).contiguous() : parameter;
}

std::vector<int64_t> axes_from(int64_t first, int64_t ndim) {
  std::vector<int64_t> axes;
  for (int64_t d = first; d < ndim; ++d) axes.push_back(d);
  return axes;
}

// Mean over `axes`, which stay as dimensions of size 1.
Tensor mean_over(const Tensor& x, const std::vector<int64_t>& axes) {
  Sym count(1);
  const SymShape shape = sym_shape(x);
  for (const int64_t axis : axes) count = count * shape[static_cast<size_t>(axis)];
  return invoke("true_divide", {build::sum(x, axes, true), size_operand(count)});
}

// The deviations from the mean over `axes`, over the standard deviation.
Tensor standardize(const Tensor& x, const std::vector<int64_t>& axes, double eps) {
  const Tensor deviation = build::sub(x, mean_over(x, axes));
  const Tensor variance = mean_over(build::mul(deviation, deviation), axes);
  return build::mul(deviation, call1("rsqrt", {build::add(variance, Scalar(eps))}));
}

// x * weight + bias, either of which may be absent, seen in `shape`.
Tensor scale_and_shift(const Tensor& x, const Tensor& weight, const Tensor& bias, const SymShape& shape) {
  const auto view = [&](const Tensor& parameter) {
    return build::reshape(build::cast(parameter, x.dtype()), shape);
  };
  Tensor result = x;
  if (weight.defined()) result = build::mul(result, view(weight));
  if (bias.defined()) result = build::add(result, view(bias));
  return result;
}

// ---- over the trailing dimensions
// ------------------------------------------------------------------------------
int64_t first_normalized_axis(const OpDef& op, const OpArgs& args) {
  const SymShape shape = sym_shape(args.tensors[0]), normalized = list_arg(args.attrs, "normalized_shape");
  WEFT_CHECK(!normalized.empty(),
             fmt::format("{}: expected normalized_shape of at least one dimension, got []", op.name));
  const bool fits = normalized.size() <= shape.size() &&
                    std::equal(normalized.begin(), normalized.end(),
                               shape.end() - static_cast<std::ptrdiff_t>(normalized.size()), sym_eq);
  WEFT_CHECK(fits, fmt::format("{}: expected an input with shape [*, {}{}", op.name,
                               weft::str(normalized).substr(1), describe_operands(op, args)));
  for (size_t i = 1; i < args.tensors.size(); ++i) {
    if (!args.tensors[i].defined()) continue;
    const SymShape given = sym_shape(args.tensors[i]);
    WEFT_CHECK(given.size() == normalized.size() &&
                   std::equal(given.begin(), given.end(), normalized.begin(), sym_eq),
               fmt::format("{}: {} must have the shape normalized_shape {}, got {}{}", op.name,
                           i == 1 ? "weight" : "bias", weft::str(normalized), weft::str(given),
                           describe_operands(op, args)));
  }
  return static_cast<int64_t>(shape.size() - normalized.size());
}

Tensor normalize_rows_now(const Tensor& x, int64_t first, bool centre, double eps, const Tensor& weight,
                          const Tensor& bias) {
  const Shape& shape = x.shape();
  const Tensor result = Tensor::empty(shape, x.dtype());
  const int64_t size = numel(Shape(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end()));
  kernels::normalize_rows(x.contiguous(), size, centre, eps, parameter_for(x, weight), parameter_for(x, bias),
                          result);
  return result;
}

Tensors layer_norm(const OpDef& op, const OpArgs& args) {
  const Tensor x = load(op, args);
  const int64_t first = first_normalized_axis(op, args);
  const double eps = float_arg(args.attrs, "eps");
  if (runs_now(args))
    return {normalize_rows_now(x, first, true, eps, args.tensors[1], args.tensors[2])
                .to(args.tensors[0].dtype())};
  const Tensor normal = standardize(x, axes_from(first, x.dim()), eps);
  const Tensor result =
      scale_and_shift(normal, args.tensors[1], args.tensors[2], list_arg(args.attrs, "normalized_shape"));
  return {build::cast(result, args.tensors[0].dtype())};
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::F16: return 0x1p-10;
    case DType::BF16: return 0x1p-7;
    case DType::F32: return static_cast<double>(std::numeric_limits<float>::epsilon());
    default: return std::numeric_limits<double>::epsilon();
  }
}

Tensors rms_norm(const OpDef& op, const OpArgs& args) {
  const Tensor x = load(op, args);
  const int64_t first = first_normalized_axis(op, args);
  const DType dtype = args.tensors[0].dtype();
  const double eps = args.attrs.is_none("eps") ? epsilon_of(dtype) : float_arg(args.attrs, "eps");
  if (runs_now(args)) return {normalize_rows_now(x, first, false, eps, args.tensors[1], Tensor()).to(dtype)};
  const Tensor power = mean_over(build::mul(x, x), axes_from(first, x.dim()));
  const Tensor normal = build::mul(x, call1("rsqrt", {build::add(power, Scalar(eps))}));
  return {build::cast(
      scale_and_shift(normal, args.tensors[1], Tensor(), list_arg(args.attrs, "normalized_shape")), dtype)};
}

// ---- over batches, instances and groups of channels
// -------------------------------------------------------------- [1, C, 1, …]: how a parameter per channel is
// seen.
SymShape channel_view(const Tensor& x) {
  SymShape view(static_cast<size_t>(x.dim()), Sym(1));
  view[1] = sym_shape(x)[1];
  return view;
}

void check_channels(const OpDef& op, const OpArgs& args, int64_t ndim) {
  WEFT_CHECK(args.tensors[0].dim() >= ndim, fmt::format("{}: expected an input of at least {} dimensions{}",
                                                        op.name, ndim, describe_operands(op, args)));
  const Sym channels = sym_shape(args.tensors[0])[1];
  for (size_t i = 1; i < args.tensors.size(); ++i) {
    if (!args.tensors[i].defined()) continue;
    const SymShape given = sym_shape(args.tensors[i]);
    WEFT_CHECK(given.size() == 1 && sym_eq(given[0], channels),
               fmt::format("{}: parameters must have one element per channel: expected shape [{}], got {}{}",
                           op.name, channels.str(), weft::str(given), describe_operands(op, args)));
  }
}

// Statistics of one value say nothing.
void check_more_than_one(const OpDef& op, const OpArgs& args, const Sym& count, const char* what) {
  WEFT_CHECK(sym_ne(count, Sym(1)), fmt::format("{}: expected more than 1 {} when training{}", op.name, what,
                                                describe_operands(op, args)));
}

Sym product_from(const SymShape& shape, size_t first) {
  return product(SymShape(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end()));
}

std::vector<int64_t> all_but_channels(const Tensor& x) {
  std::vector<int64_t> axes = axes_from(1, x.dim());
  axes[0] = 0;
  return axes;
}

// (x - mean) * weight / sqrt(var + eps) + bias with statistics that are given: one factor per channel.
Tensor apply_statistics(const Tensor& x, const OpArgs& args) {
  const SymShape view = channel_view(x);
  const auto parameter = [&](size_t i) {
    return build::reshape(build::cast(args.tensors[i], x.dtype()), view);
  };
  Tensor factor = call1("rsqrt", {build::add(parameter(2), Scalar(float_arg(args.attrs, "eps")))});
  if (args.tensors[3].defined()) factor = build::mul(factor, parameter(3));
  const Tensor result = build::mul(build::sub(x, parameter(1)), factor);
  return args.tensors[4].defined() ? build::add(result, parameter(4)) : result;
}

// The same in one pass. Where the channels are last in memory, they are in the result.
Tensor apply_statistics_now(const Tensor& x, const OpArgs& args) {
  Tensor factor =
      call1("rsqrt", {build::add(args.tensors[2].to(x.dtype()), Scalar(float_arg(args.attrs, "eps")))});
  if (args.tensors[3].defined()) factor = build::mul(factor, args.tensors[3].to(x.dtype()));
  const Tensor mean = parameter_for(x, args.tensors[1]), bias = parameter_for(x, args.tensors[4]);
  if (x.dim() > 2 && !x.is_contiguous()) {
    std::vector<int64_t> to_last = axes_from(1, x.dim()), to_first = axes_from(0, x.dim() - 1);
    to_last[0] = 0, to_last.push_back(1);
    to_first.insert(to_first.begin() + 1, x.dim() - 1);
    if (const Tensor last = build::permute(x, to_last); last.is_contiguous()) {
      const Tensor result = Tensor::empty(last.shape(), x.dtype());
      kernels::scale_channels(last, 1, mean, factor, bias, result);
      return build::permute(result, to_first);
    }
  }
  const Tensor result = Tensor::empty(x.shape(), x.dtype());
  kernels::scale_channels(x.contiguous(), numel(Shape(x.shape().begin() + 2, x.shape().end())), mean, factor,
                          bias, result);
  return result;
}

// (x - mean) / sqrt(var + eps) * weight + bias over groups of channels.
Tensor normalize_groups_now(const Tensor& x, int64_t groups, double eps, const Tensor& weight,
                            const Tensor& bias) {
  const Tensor result = Tensor::empty(x.shape(), x.dtype());
  const int64_t inner = numel(Shape(x.shape().begin() + 2, x.shape().end()));
  kernels::normalize_groups(x.contiguous(), x.size(1), groups, inner, eps, parameter_for(x, weight),
                            parameter_for(x, bias), result);
  return result;
}

void check_statistics(const OpDef& op, const OpArgs& args, const char* when) {
  WEFT_CHECK(args.tensors[1].defined() && args.tensors[2].defined(),
             fmt::format("{}: running_mean and running_var are needed {}{}", op.name, when,
                         describe_operands(op, args)));
}

Tensors batch_norm(const OpDef& op, const OpArgs& args) {
  const Tensor x = load(op, args);
  check_channels(op, args, 2);
  Tensor result;
  if (args.attrs.get_bool("training")) {
    const SymShape shape = sym_shape(x);
    check_more_than_one(op, args, shape[0] * product_from(shape, 2), "value per channel");
    result = standardize(x, all_but_channels(x), float_arg(args.attrs, "eps"));
    result = scale_and_shift(result, args.tensors[3], args.tensors[4], channel_view(x));
  } else {
    check_statistics(op, args, "unless training");
    result = runs_now(args) ? apply_statistics_now(x, args) : apply_statistics(x, args);
  }
  return {build::cast(result, args.tensors[0].dtype())};
}

Tensors instance_norm(const OpDef& op, const OpArgs& args) {
  const Tensor x = load(op, args);
  check_channels(op, args, 2);
  Tensor result;
  if (args.attrs.get_bool("use_input_stats")) {
    check_more_than_one(op, args, product_from(sym_shape(x), 2), "spatial element");
    const double eps = float_arg(args.attrs, "eps");
    result = runs_now(args) ? normalize_groups_now(x, x.size(1), eps, args.tensors[3], args.tensors[4])
                            : scale_and_shift(standardize(x, axes_from(2, x.dim()), eps), args.tensors[3],
                                              args.tensors[4], channel_view(x));
  } else {
    check_statistics(op, args, "unless use_input_stats");
    result = runs_now(args) ? apply_statistics_now(x, args) : apply_statistics(x, args);
  }
  return {build::cast(result, args.tensors[0].dtype())};
}

// running * (1 - momentum) + batch * momentum; the variance with Bessel's correction.
Tensors update_statistics(const OpDef& op, const OpArgs& args) {
  const Tensor x = load(op, args);
  check_channels(op, args, 2);
  const bool instances = args.attrs.get_bool("per_instance");
  const SymShape shape = sym_shape(x);
  const std::vector<int64_t> axes = instances ? axes_from(2, x.dim()) : all_but_channels(x);
  const Sym count = product_from(shape, 2) * (instances ? Sym(1) : shape[0]);
  check_more_than_one(op, args, count, "value per channel");
  const Tensor mean = mean_over(x, axes), deviation = build::sub(x, mean);
  const Tensor variance = invoke("true_divide", {build::sum(build::mul(deviation, deviation), axes, true),
                                                 size_operand(count - Sym(1))});
  const double momentum = float_arg(args.attrs, "momentum");
  const auto blend = [&](const Tensor& running, const Tensor& batch) {
    const Tensor value = build::reshape(instances ? mean_over(batch, {0}) : batch, {shape[1]});
    const Tensor kept = build::mul(build::cast(running, x.dtype()), Scalar(1 - momentum));
    return build::cast(build::add(kept, build::mul(value, Scalar(momentum))), running.dtype());
  };
  return {blend(args.tensors[1], mean), blend(args.tensors[2], variance)};
}

Tensors group_norm(const OpDef& op, const OpArgs& args) {
  const Tensor x = load(op, args);
  check_channels(op, args, 2);
  const SymShape shape = sym_shape(x);
  const Sym groups(int_arg(args.attrs, "num_groups")), channels = shape[1];
  WEFT_CHECK(sym_ne(channels, Sym(0)),
             fmt::format("{}: Expected number of channels to be greater than 0, got 0", op.name));
  WEFT_CHECK(sym_ne(product_from(shape, 2), Sym(0)),
             fmt::format("{}: Expected HxW to be greater than 0, got 0", op.name));
  WEFT_CHECK(
      groups.constant() > 0 && sym_eq(floor_mod(channels, groups), Sym(0)),
      fmt::format(
          "{}: the number of channels must be divisible by num_groups: got {} channels, num_groups {}{}",
          op.name, channels.str(), groups.str(), describe_operands(op, args)));
  const Sym size = floor_div(channels, groups) * product_from(shape, 2);
  check_more_than_one(op, args, shape[0] * size, "value per channel");
  const double eps = float_arg(args.attrs, "eps");
  if (runs_now(args))
    return {normalize_groups_now(x, groups.constant(), eps, args.tensors[1], args.tensors[2])
                .to(args.tensors[0].dtype())};
  const Tensor normal = standardize(build::reshape(x, {shape[0], groups, size}), {2}, eps);
  const Tensor result =
      scale_and_shift(build::reshape(normal, shape), args.tensors[1], args.tensors[2], channel_view(x));
  return {build::cast(result, args.tensors[0].dtype())};
}

// ---- over neighbouring channels, and by the norm
// -----------------------------------------------------------------
Tensors local_response_norm(const OpDef& op, const OpArgs& args) {
  const Tensor x = load(op, args);
  const int64_t size = int_arg(args.attrs, "size");
  WEFT_CHECK(x.dim() >= 3, fmt::format("{}: expected an input of at least 3 dimensions{}", op.name,
                                       describe_operands(op, args)));
  WEFT_CHECK(size > 0, fmt::format("{}: size must be at least 1, got {}", op.name, size));
  const SymShape shape = sym_shape(x);
  const Tensor squares =
      build::reshape(build::mul(x, x), {shape[0], Sym(1), shape[1], product_from(shape, 2)});
  const Tensor padded =
      call1("pad", {squares}, {{"pad", SymShape{Sym(0), Sym(0), Sym(size / 2), Sym((size - 1) / 2)}}});
  const Tensor mean = call1("avg_pool2d", {padded},
                            {{"kernel_size", SymShape{Sym(size), Sym(1)}}, {"stride", SymShape{Sym(1)}}});
  const Tensor scaled = build::mul(build::reshape(mean, shape), Scalar(float_arg(args.attrs, "alpha")));
  const Tensor base = build::add(scaled, Scalar(float_arg(args.attrs, "k")));
  const Tensor result =
      invoke("true_divide", {x, invoke("pow", {base, Scalar(float_arg(args.attrs, "beta"))})});
  return {build::cast(result, args.tensors[0].dtype())};
}

Tensors normalize(const OpDef&, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const Tensor norm = call1("vector_norm", {x},
                            {{"ord", float_arg(args.attrs, "p")},
                             {"dim", SymShape{sym_arg(args.attrs, "dim")}},
                             {"keepdim", true}});
  return {invoke("true_divide", {x, invoke("maximum", {norm, Scalar(float_arg(args.attrs, "eps"))})})};
}

[[maybe_unused]] const OpDef* const kNormOps[] = {
    &define_composite("layer_norm",
                      "(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
                      "eps=1e-5) -> Tensor",
                      "(x - mean) / sqrt(var + eps) * weight + bias, with the mean and the variance over the "
                      "trailing dimensions, whose\n"
                      "sizes are normalized_shape and the shape of weight and bias. dtype: floating. source: "
                      "Ba et al. 2016.",
                      "", layer_norm),
    &define_composite(
        "rms_norm", "(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
        "x / sqrt(mean(x**2) + eps) * weight, the mean over the trailing dimensions, whose sizes are "
        "normalized_shape.\n"
        "eps: the input dtype's machine epsilon. dtype: floating. source: Zhang and Sennrich 2019.",
        "", rms_norm),
    &define_composite(
        "batch_norm",
        "(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, "
        "bool training=False, float momentum=0.1, float eps=1e-5) -> Tensor",
        "(x - mean) / sqrt(var + eps) * weight + bias per channel of input[N, C, …]; training: with the mean "
        "and the biased\n"
        "variance of the batch (see batch_norm_update_stats for the running ones).\n"
        "raises: ValueError for running statistics that are missing, or one value per channel when "
        "training.\n"
        "dtype: floating. source: Ioffe and Szegedy 2015.",
        "", batch_norm),
    &define_composite(
        "batch_norm_update_stats",
        "(Tensor input, Tensor running_mean, Tensor running_var, float momentum=0.1, bool "
        "per_instance=False) -> (Tensor, Tensor)",
        "(running_mean, running_var) * (1 - momentum) + (mean, unbiased variance) of the batch * momentum, "
        "per channel of\n"
        "input[N, C, …]. per_instance: the statistics of every instance, averaged over the batch.",
        "", update_statistics),
    &define_composite(
        "instance_norm",
        "(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? "
        "bias=None, "
        "bool use_input_stats=True, float momentum=0.1, float eps=1e-5) -> Tensor",
        "batch_norm with the mean and the variance of every instance, or the running ones unless "
        "use_input_stats.\n"
        "raises: ValueError for one spatial element. dtype: floating. source: Ulyanov et al. 2016.",
        "", instance_norm),
    &define_composite(
        "group_norm",
        "(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> Tensor",
        "(x - mean) / sqrt(var + eps) * weight + bias, the mean and the variance over groups of the channels "
        "of\n"
        "input[N, C, …], weight and bias per channel. raises: ValueError unless num_groups divides C.\n"
        "dtype: floating. source: Wu and He 2018.",
        "", group_norm),
    &define_composite("local_response_norm",
                      "(Tensor input, int size, float alpha=1e-4, float beta=0.75, float k=1.0) -> Tensor",
                      "x / (k + alpha * mean of x**2 over `size` neighbouring channels of input[N, C, …], "
                      "zeros outside)**beta.\n"
                      "dtype: floating. source: Krizhevsky et al. 2012.",
                      "", local_response_norm),
    &define_composite("normalize", "(Tensor input, float p=2.0, int dim=1, float eps=1e-12) -> Tensor",
                      "x / max(vector_norm(x, p) along dim, eps).",
                      "x / numpy.maximum(numpy.linalg.norm(x, p, axis=dim, keepdims=True), eps)", normalize),
};

}  // namespace
}  // namespace weft::ops
