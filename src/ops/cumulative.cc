// Scans: running sums, products, extremes, and differences.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "kernels/cpu/lanes.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/order.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

int64_t dim_arg(const OpDef& op, const Attrs& attrs, int64_t ndim) {
  return normalize_dim(op.name, int_arg(attrs, "dim"), std::max<int64_t>(ndim, 1));
}

// bool and integers narrower than int64 accumulate in 64 bits, as the sums do.
DType scan_dtype(DType operand, const Attrs& attrs) {
  if (!attrs.is_none("dtype")) return attrs.get<DType>("dtype");
  return is_inexact(operand) ? operand : operand == DType::U64 ? DType::U64 : DType::I64;
}

std::vector<TensorType> infer_scan(const OpDef& op, std::span<const TensorType> operands,
                                   const Attrs& attrs) {
  dim_arg(op, attrs, static_cast<int64_t>(operands[0].shape.size()));
  TensorType result = operands[0];
  result.dtype = scan_dtype(result.dtype, attrs);
  return {result};
}

// The type running totals are kept in: float32 for the 16-bit floats.
template <class T>
using Total = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float,
                                 std::conditional_t<std::is_same_v<T, bool>, bool, T>>;

template <class T>
Total<T> plus(Total<T> a, Total<T> b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}

template <class T>
Total<T> times(Total<T> a, Total<T> b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

// Along another dimension than the last: a row of totals at a time, a block of columns after the other.
template <class T, class Combine>
void scan_rows(std::type_identity<T> type, const Tensor& x, const Tensor& result, int64_t length,
               int64_t inner, Combine combine) {
  constexpr int64_t kColumns = 512, kElements = 16 * 1024;
  const int64_t blocks = (inner + kColumns - 1) / kColumns, outer = x.numel() / (length * inner);
  parallel_for(0, outer * blocks, std::max<int64_t>(1, kElements / (length * std::min(inner, kColumns))),
               [&](int64_t begin, int64_t end) {
                 std::array<Total<T>, kColumns> totals;
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t column = task % blocks * kColumns,
                                 count = std::min(kColumns, inner - column);
                   const int64_t start = task / blocks * length * inner + column;
                   const T* __restrict in = x.data_as<T>() + start;
                   T* __restrict out = result.data_as<T>() + start;
                   for (int64_t k = 0; k < count; ++k) {
                     totals[static_cast<size_t>(k)] = static_cast<Total<T>>(in[k]);
                     out[k] = static_cast<T>(totals[static_cast<size_t>(k)]);
                   }
                   for (int64_t i = 1; i < length; ++i) {
                     in += inner, out += inner;
                     for (int64_t k = 0; k < count; ++k) {
                       Total<T>& total = totals[static_cast<size_t>(k)];
                       total = combine(type, total, static_cast<Total<T>>(in[k]));
                       out[k] = static_cast<T>(total);
                     }
                   }
                 }
               });
}

template <class Combine>
std::vector<Tensor> scan(const OpDef& op, const Tensor& operand, const Attrs& attrs, Combine combine) {
  const int64_t dim = dim_arg(op, attrs, operand.dim());
  const Tensor x = operand.to(scan_dtype(operand.dtype(), attrs));
  if (x.dtype() == DType::F16 || x.dtype() == DType::BF16) {
    Attrs wide = attrs;
    wide.set("dtype", DType::F32);
    return {scan(op, x.to(DType::F32), wide, combine)[0].to(x.dtype())};
  }
  Tensor result = Tensor::empty(x.shape(), x.dtype());
  const int64_t length = kernels::lane_length(x, dim);
  const int64_t stride = kernels::lane_stride(x, dim), out_stride = kernels::lane_stride(result, dim);
  if (x.numel() == 0) return {result};
  constexpr int64_t kFewColumns = 8;
  const Tensor dense = x.dim() > 0 && dim + 1 < x.dim() ? x.contiguous() : x;
  const int64_t inner = dim + 1 < x.dim() && length > 0 ? result.strides()[static_cast<size_t>(dim)] : 1;
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T> type) {
    if (inner >= kFewColumns) {
      scan_rows(type, dense, result, length, inner, combine);
      return;
    }
    kernels::for_each_lane(x, dim, [&](int64_t number) {
      const T* in = x.data_as<T>() + kernels::lane_offset(x, dim, number);
      T* out = result.data_as<T>() + kernels::lane_offset(result, dim, number);
      Total<T> total = static_cast<Total<T>>(in[0]);
      out[0] = static_cast<T>(total);
      for (int64_t i = 1; i < length; ++i) {
        total = combine(type, total, static_cast<Total<T>>(in[i * stride]));
        out[i * out_stride] = static_cast<T>(total);
      }
    });
  });
  return {result};
}

std::vector<Tensor> eager_cumsum(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  return scan(op, operands[0], attrs,
              []<class T>(std::type_identity<T>, Total<T> a, Total<T> b) { return plus<T>(a, b); });
}
std::vector<Tensor> eager_cumprod(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  return scan(op, operands[0], attrs,
              []<class T>(std::type_identity<T>, Total<T> a, Total<T> b) { return times<T>(a, b); });
}

// log(exp(a) + exp(b)).
template <class T>
T log_of_sum(T a, T b) {
  if constexpr (kIsComplexType<T>) {
    const auto shift = std::max(a.real(), b.real());
    if (!std::isfinite(shift))
      return shift > 0 ? std::log(std::exp(a) + std::exp(b)) : a.real() < b.real() ? b : a;
    return std::log(std::exp(a - shift) + std::exp(b - shift)) + shift;
  } else {
    if (is_nan(a) || is_nan(b)) return a + b;
    const T high = std::max(a, b), low = std::min(a, b);
    return low == high || std::isinf(high) ? (std::isinf(high) ? high : high + std::log(T(2)))
                                           : high + std::log1p(std::exp(low - high));
  }
}

std::vector<TensorType> infer_logcumsumexp(const OpDef& op, std::span<const TensorType> operands,
                                           const Attrs& attrs) {
  dim_arg(op, attrs, static_cast<int64_t>(operands[0].shape.size()));
  WEFT_CHECK_TYPE(is_inexact(operands[0].dtype),
                  fmt::format("{}: dtype not supported: expected floating or complex{}", op.name,
                              describe_operands(op, operands)));
  return {operands[0]};
}

std::vector<Tensor> eager_logcumsumexp(const OpDef& op, std::span<const Tensor> operands,
                                       const Attrs& attrs) {
  return scan(op, operands[0], attrs, []<class T>(std::type_identity<T>, Total<T> a, Total<T> b) {
    if constexpr (kHasNan<T>)
      return log_of_sum(a, b);
    else
      return a;
  });
}

std::vector<TensorType> infer_running(const OpDef& op, std::span<const TensorType> operands,
                                      const Attrs& attrs) {
  dim_arg(op, attrs, static_cast<int64_t>(operands[0].shape.size()));
  WEFT_CHECK_TYPE(!is_complex(operands[0].dtype), fmt::format("{}: complex numbers have no order{}", op.name,
                                                              describe_operands(op, operands)));
  return {operands[0], TensorType{DType::I64, operands[0].shape, operands[0].device}};
}

// Running extreme and the last position where it stood; NaN stays once met.
std::vector<Tensor> running(const OpDef& op, const Tensor& x, const Attrs& attrs, bool largest) {
  const int64_t dim = dim_arg(op, attrs, x.dim());
  Tensor values = Tensor::empty(x.shape(), x.dtype()), indices = Tensor::empty(x.shape(), DType::I64);
  const int64_t length = kernels::lane_length(x, dim);
  const int64_t stride = kernels::lane_stride(x, dim), out_stride = kernels::lane_stride(values, dim);
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!kIsComplexType<T>) {
      kernels::for_each_lane(x, dim, [&](int64_t number) {
        const T* in = x.data_as<T>() + kernels::lane_offset(x, dim, number);
        const int64_t out = kernels::lane_offset(values, dim, number);
        int64_t best = 0;
        for (int64_t i = 0; i < length; ++i) {
          const T &value = in[i * stride], &held = in[best * stride];
          if (is_nan(value) || (!is_nan(held) && (largest ? value >= held : value <= held))) best = i;
          values.data_as<T>()[out + i * out_stride] = in[best * stride];
          indices.data_as<int64_t>()[out + i * out_stride] = best;
        }
      });
    }
  });
  return {values, indices};
}

std::vector<Tensor> diff(const OpDef& op, const OpArgs& args) {
  Tensor x = args.tensors[0];
  const int64_t n = int_arg(args.attrs, "n");
  WEFT_CHECK(n >= 0, fmt::format("diff: order must be non-negative, got {}", n));
  WEFT_CHECK(x.dim() > 0, "diff: expected at least one dimension, got a 0-d tensor");
  const int64_t dim = normalize_dim(op.name, int_arg(args.attrs, "dim"), x.dim());
  constexpr int64_t kMany = 16;
  // After as many steps as there are elements nothing is left.
  const int64_t steps = n <= kMany ? n : std::min(n, sym_specialize(sym_shape(x)[static_cast<size_t>(dim)]));
  for (int64_t i = 0; i < steps; ++i) {
    const Tensor high = build::slice(x, dim, Sym(1), std::nullopt),
                 low = build::slice(x, dim, std::nullopt, Sym(-1));
    x = x.dtype() == DType::Bool ? call1("ne", {high, low}) : build::sub(high, low);
  }
  return {x};
}

[[maybe_unused]] const OpDef* const kCumulativeOps[] = {
    &register_op({.name = "cumsum",
                  .schema = "(Tensor x, int dim, *, dtype? dtype=None) -> Tensor",
                  .doc = "Running sum along `dim`. bool and integers add in int64 unless `dtype` says "
                         "otherwise; 16-bit floats\n"
                         "in float32. error: n * eps * sum(|x|), in order.",
                  .numpy = "numpy.cumsum(x, axis=dim, dtype=dtype)",
                  .methods = {""},
                  .infer = infer_scan,
                  .eager = eager_cumsum}),
    &register_op({.name = "cumprod",
                  .schema = "(Tensor x, int dim, *, dtype? dtype=None) -> Tensor",
                  .doc = "Running product along `dim`. bool and integers multiply in int64 unless `dtype` "
                         "says otherwise.\n"
                         "error: n ULP.",
                  .numpy = "numpy.cumprod(x, axis=dim, dtype=dtype)",
                  .methods = {""},
                  .infer = infer_scan,
                  .eager = eager_cumprod}),
    &register_op({.name = "logcumsumexp",
                  .schema = "(Tensor x, int dim) -> Tensor",
                  .doc = "Running log(sum(exp(x))) along `dim`, without overflow.\n"
                         "dtype:  floating and complex; 16-bit floats add in float32. error: n ULP.",
                  .methods = {""},
                  .infer = infer_logcumsumexp,
                  .eager = eager_logcumsumexp}),
    &register_op({.name = "cummax",
                  .schema = "(Tensor x, int dim) -> (Tensor, Tensor)",
                  .doc = "Running maximum along `dim` and the int64 position it was last reached at. NaN "
                         "stays once met.\n"
                         "dtype:  bool, integers, floating. error: exact.",
                  .numpy = "numpy.maximum.accumulate(x, axis=dim)",
                  .methods = {""},
                  .infer = infer_running,
                  .eager = [](const OpDef& op, std::span<const Tensor> x,
                              const Attrs& attrs) { return running(op, x[0], attrs, true); }}),
    &register_op({.name = "cummin",
                  .schema = "(Tensor x, int dim) -> (Tensor, Tensor)",
                  .doc = "Running minimum along `dim` and the int64 position it was last reached at. NaN "
                         "stays once met.\n"
                         "dtype:  bool, integers, floating. error: exact.",
                  .numpy = "numpy.minimum.accumulate(x, axis=dim)",
                  .methods = {""},
                  .infer = infer_running,
                  .eager = [](const OpDef& op, std::span<const Tensor> x,
                              const Attrs& attrs) { return running(op, x[0], attrs, false); }}),
    &define_composite("diff", "(Tensor x, int n=1, int dim=-1) -> Tensor",
                      "Differences of neighbours along `dim`, taken n times; bool: whether they differ.\n"
                      "raises: ValueError for n < 0 or a 0-d tensor.",
                      "numpy.diff(x, n=n, axis=dim)", diff, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
