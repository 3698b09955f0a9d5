// Reductions written over the primitives of reduce.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/build.h"
#include "ops/built_rows.h"
#include "ops/composite.h"

namespace weft::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One reduction over the `dim` and `keepdim` of the enclosing call.
struct Reduce {
  const OpDef& op;
  const OpArgs& args;

  Tensor operator()(std::string_view name, const Tensor& x, std::optional<DType> dtype = {},
                    bool keepdim = false) const {
    SymShape axes;
    for (int64_t axis : reduction_axes(op.name, args.attrs, static_cast<int64_t>(sym_shape(x).size())))
      axes.push_back(Sym(axis));
    Attrs attrs{{"dim", axes}, {"keepdim", keepdim || args.attrs.get_bool("keepdim")}};
    if (dtype) attrs.set("dtype", *dtype);
    return call1(name, {x}, std::move(attrs));
  }
  Tensor keeping(std::string_view name, const Tensor& x, std::optional<DType> dtype = {}) const {
    return (*this)(name, x, dtype, true);
  }
  // Number of elements that one result is made of.
  Sym count() const {
    const SymShape shape = sym_shape(args.tensors[0]);
    Sym count(1);
    for (int64_t axis : reduction_axes(op.name, args.attrs, static_cast<int64_t>(shape.size())))
      count = count * shape[static_cast<size_t>(axis)];
    return count;
  }
};

// What the build has written along rows; undefined where it has not.
constexpr int64_t kLongestRow = 1 << 16;   // in whose sums the rounding of weights does not show
constexpr int64_t kLongestNorm = 1 << 10;  // longer rows are added up in pairs

Tensor along_rows(std::string_view name, const Tensor& x, const OpArgs& args) {
  if (x.is_traced()) return {};
  return run_built_rows(name, x, args.attrs.get_int("dim"), x.shape(), kLongestRow);
}
Tensor over_rows(std::string_view name, const Tensor& x, const OpDef& op, const OpArgs& args,
                 std::span<const Tensor> numbers = {}) {
  if (x.is_traced() || x.dim() == 0) return {};
  const std::vector<int64_t> axes = reduction_axes(op.name, args.attrs, x.dim());
  if (axes.size() != 1) return {};
  Shape shape = x.shape();
  if (args.attrs.get_bool("keepdim"))
    shape.back() = 1;
  else
    shape.pop_back();
  return run_built_rows(name, x, axes[0], shape, kLongestNorm, {}, numbers);
}

Tensor variance_over_rows(const Tensor& x, const OpDef& op, const OpArgs& args, double correction) {
  if (x.is_traced() || x.dim() == 0 || is_complex(x.dtype())) return {};
  const auto count = static_cast<double>(x.shape().back());
  const DType compute = compute_dtype(x.dtype());
  const std::array numbers{Tensor::scalar(Scalar(count), compute),
                           Tensor::scalar(Scalar(std::max(0.0, count - correction)), compute)};
  return over_rows("var", x, op, args, numbers);
}

// The square root of the sum of all squares: rows of the length that is added up without pairs, then their
// sums.
Tensor norm_of_all(const Tensor& x, const OpDef& op, const OpArgs& args) {
  if (x.is_traced() || x.device() != Device() || x.dim() == 0 || x.numel() == 0 ||
      args.attrs.get_bool("keepdim") ||
      static_cast<int64_t>(reduction_axes(op.name, args.attrs, x.dim()).size()) != x.dim())
    return {};
  const Tensor elements = x.contiguous();
  const int64_t count = x.numel(), whole = count / kLongestNorm * kLongestNorm;
  const auto rows_of = [&](std::string_view name, int64_t first, const Shape& shape, const Shape& result) {
    const Tensor rows(elements.storage(), x.dtype(), shape, contiguous_strides(shape),
                      elements.offset() + first);
    return run_built_rows(name, rows, -1, result, kLongestNorm,
                          name == "square_sum" ? compute_dtype(x.dtype()) : x.dtype());
  };
  if (is_complex(x.dtype())) return {};
  if (count <= kLongestNorm) return rows_of("vector_norm", 0, {1, count}, {});
  Tensor sums = rows_of("square_sum", 0, {whole / kLongestNorm, kLongestNorm}, {whole / kLongestNorm});
  if (!sums.defined()) return {};
  Tensor total = call1("sum", {sums});
  if (whole < count) total = call1("add", {total, rows_of("square_sum", whole, {1, count - whole}, {})});
  return cast_to(call1("sqrt", {total}), real_dtype(x.dtype()));
}

// The floating dtype a mean is returned in. PyTorch's rules: TypeError for integers.
DType mean_dtype(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  if (op.find_param("dtype") != nullptr && !args.attrs.is_none("dtype")) {
    const DType dtype = args.attrs.get<DType>("dtype");
    WEFT_CHECK_TYPE(
        args.rules == Promotion::NumPy || is_inexact(dtype),
        fmt::format("{}(): could not infer output dtype. Optional dtype must be either a floating "
                    "point or complex dtype. Got: {}",
                    op.name, name(dtype)));
    return dtype;
  }
  if (is_inexact(x.dtype())) return x.dtype();
  WEFT_CHECK_TYPE(
      args.rules == Promotion::NumPy,
      fmt::format("{}: dtype not supported: expected floating or complex (or an explicit dtype), got {}{}",
                  op.name, name(x.dtype()), describe_operands(op, std::vector<TensorType>{type_of(x)})));
  return DType::F64;
}

// Divides by a count in the dtype of `x`; 0 / 0 is NaN.
Tensor divide(const Tensor& x, const Operand& count, Promotion rules) {
  if (const Tensor* tensor = std::get_if<Tensor>(&count))
    return call1("true_divide", {x, cast_to(*tensor, x.dtype())});
  return invoke("true_divide", {x, count}, rules);
}

std::vector<Tensor> mean(const OpDef& op, const OpArgs& args) {
  const Reduce reduce{op, args};
  const DType dtype = mean_dtype(op, args);
  const Tensor sum = reduce("sum", args.tensors[0], compute_dtype(dtype));
  return {cast_to(divide(sum, size_operand(reduce.count()), args.rules), dtype)};
}

// What is taken off the count: PyTorch's default is 1, NumPy's 0.
double correction_of(const OpArgs& args) {
  if (!args.attrs.is_none("correction")) return args.attrs.get<double>("correction");
  const bool unbiased =
      args.attrs.is_none("unbiased") ? args.rules == Promotion::Torch : args.attrs.get_bool("unbiased");
  return unbiased ? 1 : 0;
}

std::vector<Tensor> variance(const OpDef& op, const OpArgs& args) {
  const Reduce reduce{op, args};
  const DType dtype = mean_dtype(op, args), compute = compute_dtype(dtype);
  const double correction = correction_of(args);
  if (dtype == args.tensors[0].dtype())
    if (const Tensor done = variance_over_rows(args.tensors[0], op, args, correction); done.defined())
      return {done};
  const Tensor x = cast_to(args.tensors[0], compute);
  const Sym count = reduce.count();
  const Tensor average = divide(reduce.keeping("sum", x), size_operand(count), args.rules);
  const Tensor deviation = call1("sub", {x, average});
  const Tensor squares = is_complex(compute)
                             ? call1("real", {call1("mul", {deviation, call1("conj", {deviation})})})
                             : call1("mul", {deviation, deviation});
  const Tensor total = reduce("sum", squares);
  Tensor result;
  if (count.is_constant()) {
    result =
        divide(total, Scalar(std::max(0.0, static_cast<double>(count.constant()) - correction)), args.rules);
  } else {
    const Tensor size = cast_to(std::get<Tensor>(size_operand(count)), total.dtype());
    const Tensor divisor = invoke("sub", {size, Scalar(correction)}, args.rules);
    result = divide(total, invoke("maximum", {divisor, Scalar(0.0)}, args.rules), args.rules);
  }
  return {cast_to(result, real_dtype(dtype))};
}

// Rounded once.
std::vector<Tensor> standard_deviation(const OpDef& op, const OpArgs& args) {
  const DType dtype = args.tensors[0].dtype();
  OpArgs wide = args;
  if (is_inexact(dtype)) wide.tensors[0] = cast_to(args.tensors[0], compute_dtype(dtype));
  const Tensor result = call1("sqrt", {variance(op, wide)[0]});
  return {is_floating(dtype) ? cast_to(result, dtype) : result};
}

std::vector<Tensor> vector_norm(const OpDef& op, const OpArgs& args) {
  const Reduce reduce{op, args};
  const Compose compose{args.rules};
  Tensor x = args.tensors[0];
  if (!is_inexact(x.dtype())) x = cast_to(x, args.rules == Promotion::NumPy ? DType::F64 : DType::F32);
  const DType dtype = real_dtype(x.dtype());
  const double order = args.attrs.get<double>("ord");
  if (order == 2) {
    if (const Tensor done = over_rows("vector_norm", x, op, args); done.defined()) return {done};
    if (const Tensor done = norm_of_all(x, op, args); done.defined()) return {done};
    const Tensor wide = cast_to(x, compute_dtype(x.dtype()));
    const Tensor squares = is_complex(wide.dtype())
                               ? call1("real", {call1("mul", {wide, call1("conj", {wide})})})
                               : call1("mul", {wide, wide});
    return {cast_to(call1("sqrt", {reduce("sum", squares)}), dtype)};
  }
  if (order == 0) return {reduce("sum", call1("ne", {x, Tensor::scalar(Scalar(0), x.dtype())}), dtype)};
  const Tensor magnitude = call1("abs", {cast_to(x, compute_dtype(x.dtype()))});
  const auto norm = [&]() -> Tensor {
    if (order == kInfinity) return reduce("amax", magnitude);
    if (order == -kInfinity) return reduce("amin", magnitude);
    if (order == 1) return reduce("sum", magnitude);
    return compose("pow", {reduce("sum", compose("pow", {magnitude, Scalar(order)})), Scalar(1 / order)});
  };
  return {cast_to(norm(), dtype)};
}

// The largest element per result (kept as size-1 dimensions), 0 where it is infinite: what exponents are
// taken relative to.
Tensor finite_maximum(const Reduce& reduce, const Tensor& x) {
  const Tensor largest = reduce.keeping("amax", x);
  return invoke("where", {call1("isfinite", {largest}), largest, Scalar(0.0)});
}

Tensor to_floating(const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  return is_inexact(x.dtype()) ? x : cast_to(x, args.rules == Promotion::NumPy ? DType::F64 : DType::F32);
}

// PyTorch has softmax of floating tensors only.
Tensor floating_operand(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  WEFT_CHECK_TYPE(
      args.rules == Promotion::NumPy || is_floating(x.dtype()),
      fmt::format("{}: dtype not supported: expected floating, got {}", op.name, name(x.dtype())));
  return to_floating(args);
}

OpArgs keeping_dimensions(const OpArgs& args) {
  OpArgs kept = args;
  kept.attrs.set("keepdim", true);
  return kept;
}

bool has_no_elements(const Tensor& x) {
  const SymShape shape = sym_shape(x);
  return std::any_of(shape.begin(), shape.end(), [](const Sym& size) { return sym_eq(size, Sym(0)); });
}

std::vector<Tensor> logsumexp(const OpDef& op, const OpArgs& args) {
  const Reduce reduce{op, args};
  const Tensor given = to_floating(args);
  if (const Tensor done = over_rows("logsumexp", given, op, args); done.defined()) return {done};
  const Tensor x = cast_to(given, compute_dtype(given.dtype()));
  const Tensor shift = finite_maximum(reduce, x);
  const Tensor total = reduce("sum", call1("exp", {call1("sub", {x, shift})}));
  // The shift without the reduced dimensions: of equal elements, the largest is any of them.
  const Tensor back = args.attrs.get_bool("keepdim") ? shift : reduce("amax", shift);
  return {cast_to(call1("add", {call1("log", {total}), back}), given.dtype())};
}

Tensor without_nan(const Tensor& x, double replacement) {
  if (!is_inexact(x.dtype())) return x;
  return invoke("where", {call1("isnan", {x}), Scalar(replacement), x});
}

std::vector<Tensor> nan_mean(const OpDef& op, const OpArgs& args) {
  const Reduce reduce{op, args};
  const DType dtype = mean_dtype(op, args);
  const Tensor x = cast_to(args.tensors[0], compute_dtype(dtype));
  const Tensor valid = call1("logical_not", {call1("isnan", {x})});
  const Tensor count = reduce("sum", valid, x.dtype());
  return {cast_to(call1("true_divide", {reduce("sum", without_nan(x, 0)), count}), dtype)};
}

// NaN only where every element is NaN.
std::vector<Tensor> nan_extreme(const OpDef& op, const OpArgs& args, const char* primitive, double neutral) {
  const Reduce reduce{op, args};
  const Tensor& x = args.tensors[0];
  if (!is_inexact(x.dtype())) return {reduce(primitive, x)};
  const Tensor extreme = reduce(primitive, without_nan(x, neutral)),
               empty = reduce("all", call1("isnan", {x}));
  return {invoke("where", {empty, Scalar(std::nan("")), extreme})};
}

constexpr const char* kSchema = "(Tensor x, int[]? dim=None, bool keepdim=False) -> Tensor";
constexpr const char* kTypedSchema =
    "(Tensor x, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor";
constexpr const char* kCorrected =
    "(Tensor x, int[]? dim=None, bool? unbiased=None, bool keepdim=False, *, float? correction=None) -> "
    "Tensor";

[[maybe_unused]] const OpDef* const kMoments[] = {
    &composite(
        "mean", kTypedSchema,
        "Arithmetic mean over `dim`; NaN over no elements. float16 and bfloat16 are added in float32.\n"
        "dtype:  floating and complex; integers: float64 under NumPy's rules, TypeError under PyTorch's.\n"
        "error:  that of sum, and half a unit in the last place.",
        "numpy.mean(x, axis=dim, keepdims=keepdim, dtype=dtype)", mean),
    &composite("var", kCorrected,
               "Variance over `dim`: the squared deviations from the mean, added up, over n - correction "
               "(NumPy's ddof),\n"
               "which is 1 where unbiased, else 0. Neither given: 1 under PyTorch's rules, 0 under NumPy's.\n"
               "error:  two passes, no cancellation: that of sum over the squared deviations.",
               "numpy.var(x, axis=dim, keepdims=keepdim, ddof=correction)", variance),
    &composite("std", kCorrected, "Square root of var.",
               "numpy.std(x, axis=dim, keepdims=keepdim, ddof=correction)", standard_deviation),
    &composite("max", "(Tensor x) -> Tensor",
               "The largest of all elements; NaN if there is one. Along dimensions: amax, argmax.",
               "numpy.max(x)",
               [](const OpDef&, const OpArgs& args) -> std::vector<Tensor> {
                 return {call1("amax", args.tensors)};
               }),
    &composite("min", "(Tensor x) -> Tensor",
               "The smallest of all elements; NaN if there is one. Along dimensions: amin, argmin.",
               "numpy.min(x)",
               [](const OpDef&, const OpArgs& args) -> std::vector<Tensor> {
                 return {call1("amin", args.tensors)};
               }),
    &composite("ptp", kSchema, "amax(x) - amin(x) over `dim`.", "numpy.ptp(x, axis=dim, keepdims=keepdim)",
               [](const OpDef& op, const OpArgs& args) -> std::vector<Tensor> {
                 const Reduce reduce{op, args};
                 return {call1("sub", {reduce("amax", args.tensors[0]), reduce("amin", args.tensors[0])})};
               }),
};

[[maybe_unused]] const OpDef* const kNorms[] = {
    &composite("vector_norm", "(Tensor x, float ord=2.0, int[]? dim=None, bool keepdim=False) -> Tensor",
               "(sum |x|**ord)**(1/ord) over `dim`; ord inf, -inf: largest, smallest |x|; 0: number of "
               "nonzero elements.\n"
               "dtype:  the real dtype of x; integers become floating. error: that of sum, halved by the "
               "root; 3 ULP more.",
               "numpy.linalg.norm(x, ord, axis=dim, keepdims=keepdim)", vector_norm, {"norm"}),
    &composite("logsumexp", kSchema, "log(sum(exp(x))) over `dim`, without overflow; -inf if all are -inf.",
               "numpy.log(numpy.sum(numpy.exp(x), axis=dim, keepdims=keepdim))", logsumexp),
    &composite(
        "softmax", "(Tensor x, int dim=-1) -> Tensor",
        "exp(x) / sum(exp(x)) along `dim`, without overflow. float16 and bfloat16 are computed in float32.",
        "numpy.exp(x) / numpy.sum(numpy.exp(x), axis=dim, keepdims=True)",
        [](const OpDef& op, const OpArgs& args) -> std::vector<Tensor> {
          const Tensor given = floating_operand(op, args);
          // Halves hold no weights from one pass over a row to the next.
          const bool is_half = compute_dtype(given.dtype()) != given.dtype();
          if (const Tensor done =
                  is_half ? run_built_rows_wide("softmax", given, args.attrs.get_int("dim"), kLongestRow)
                          : along_rows("softmax", given, args);
              done.defined())
            return {done};
          if (has_no_elements(given)) return {given.clone()};
          const OpArgs kept = keeping_dimensions(args);
          const Reduce reduce{op, kept};
          const Tensor x = cast_to(given, compute_dtype(given.dtype()));
          const Tensor weights = call1("exp", {call1("sub", {x, reduce("amax", x)})});
          return {cast_to(call1("true_divide", {weights, reduce("sum", weights)}), given.dtype())};
        }),
    &composite("log_softmax", "(Tensor x, int dim=-1) -> Tensor",
               "x - log(sum(exp(x))) along `dim`, without overflow.",
               "x - numpy.log(numpy.sum(numpy.exp(x), axis=dim, keepdims=True))",
               [](const OpDef& op, const OpArgs& args) -> std::vector<Tensor> {
                 const Tensor given = floating_operand(op, args);
                 if (const Tensor done = along_rows("log_softmax", given, args); done.defined())
                   return {done};
                 if (has_no_elements(given)) return {given.clone()};
                 const OpArgs kept = keeping_dimensions(args);
                 const Reduce reduce{op, kept};
                 const Tensor x = cast_to(given, compute_dtype(given.dtype()));
                 const Tensor shifted = call1("sub", {x, reduce("amax", x)});
                 const Tensor total = reduce("sum", call1("exp", {shifted}));
                 return {cast_to(call1("sub", {shifted, call1("log", {total})}), given.dtype())};
               }),
};

[[maybe_unused]] const OpDef* const kCounting[] = {
    &composite("count_nonzero", kSchema, "Number (int64) of elements over `dim` that differ from zero.",
               "numpy.count_nonzero(x, axis=dim, keepdims=keepdim)",
               [](const OpDef& op, const OpArgs& args) -> std::vector<Tensor> {
                 const Tensor& x = args.tensors[0];
                 return {Reduce{op, args}("sum", cast_to(x, DType::Bool))};
               }),
    &composite("nansum", kTypedSchema, "sum, taking NaN as 0.",
               "numpy.nansum(x, axis=dim, keepdims=keepdim, dtype=dtype)",
               [](const OpDef& op, const OpArgs& args) -> std::vector<Tensor> {
                 std::optional<DType> dtype;
                 if (!args.attrs.is_none("dtype")) dtype = args.attrs.get<DType>("dtype");
                 return {Reduce{op, args}("sum", without_nan(args.tensors[0], 0), dtype)};
               }),
    &composite("nanprod", kTypedSchema, "prod, taking NaN as 1.",
               "numpy.nanprod(x, axis=dim, keepdims=keepdim, dtype=dtype)",
               [](const OpDef& op, const OpArgs& args) -> std::vector<Tensor> {
                 std::optional<DType> dtype;
                 if (!args.attrs.is_none("dtype")) dtype = args.attrs.get<DType>("dtype");
                 return {Reduce{op, args}("prod", without_nan(args.tensors[0], 1), dtype)};
               }),
    &composite("nanmean", kTypedSchema, "Mean of the elements that are not NaN; NaN if there are none.",
               "numpy.nanmean(x, axis=dim, keepdims=keepdim, dtype=dtype)", nan_mean),
    &composite("nanmin", kSchema, "Smallest element that is not NaN; NaN if there is none.",
               "numpy.nanmin(x, axis=dim, keepdims=keepdim)",
               [](const OpDef& op, const OpArgs& args) { return nan_extreme(op, args, "amin", kInfinity); }),
    &composite("nanmax", kSchema, "Largest element that is not NaN; NaN if there is none.",
               "numpy.nanmax(x, axis=dim, keepdims=keepdim)",
               [](const OpDef& op, const OpArgs& args) { return nan_extreme(op, args, "amax", -kInfinity); }),
};

}  // namespace
}  // namespace weft::ops
