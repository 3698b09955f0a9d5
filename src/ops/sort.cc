// Sorting, and what picks elements by rank.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/cpu/lanes.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/order.h"

namespace weft::ops {
namespace {

using kernels::lane_offset;

int64_t dim_arg(const OpDef& op, const Attrs& attrs, int64_t ndim) {
  return normalize_dim(op.name, int_arg(attrs, "dim"), std::max<int64_t>(ndim, 1));
}

// The operand's type, and int64 of the same shape.
std::vector<TensorType> infer_sort(const OpDef& op, std::span<const TensorType> operands,
                                   const Attrs& attrs) {
  dim_arg(op, attrs, static_cast<int64_t>(operands[0].shape.size()));
  if (op.num_outputs == 1) return {operands[0]};
  return {operands[0], TensorType{DType::I64, operands[0].shape, operands[0].device}};
}

// Ranks elements of a lane: the first `count` positions of the sorted order go to `positions`.
template <class T>
void rank(const T* lane, int64_t length, int64_t stride, bool descending, int64_t count,
          std::vector<int64_t>& positions) {
  positions.resize(static_cast<size_t>(length));
  std::iota(positions.begin(), positions.end(), int64_t{0});
  const auto before = [&](int64_t a, int64_t b) {
    const T &x = lane[a * stride], &y = lane[b * stride];
    if (descending ? Order<T>::less(y, x) : Order<T>::less(x, y)) return true;
    if (descending ? Order<T>::less(x, y) : Order<T>::less(y, x)) return false;
    return a < b;  // stable
  };
  if (count < length)
    std::partial_sort(positions.begin(), positions.begin() + count, positions.end(), before);
  else
    std::sort(positions.begin(), positions.end(), before);
}

// Elements by rank along `dim`, the first `count` of them, with their positions.
std::vector<Tensor> select_by_rank(const Tensor& x, int64_t dim, bool descending, int64_t count) {
  Shape shape = x.shape();
  if (!shape.empty()) shape[static_cast<size_t>(dim)] = count;
  Tensor values = Tensor::empty(shape, x.dtype()), indices = Tensor::empty(shape, DType::I64);
  const int64_t length = kernels::lane_length(x, dim), stride = kernels::lane_stride(x, dim);
  const int64_t out_stride = kernels::lane_stride(values, dim);
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    kernels::for_each_lane(x, dim, [&](int64_t number) {
      thread_local std::vector<int64_t> positions;
      const T* lane = x.data_as<T>() + lane_offset(x, dim, number);
      rank(lane, length, stride, descending, count, positions);
      const int64_t out = lane_offset(values, dim, number);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t position = positions[static_cast<size_t>(i)];
        values.data_as<T>()[out + i * out_stride] = lane[position * stride];
        indices.data_as<int64_t>()[out + i * out_stride] = position;
      }
    });
  });
  return {values, indices};
}

std::vector<Tensor> eager_sort(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const int64_t dim = dim_arg(op, attrs, operands[0].dim());
  return select_by_rank(operands[0], dim, attrs.get_bool("descending"),
                        kernels::lane_length(operands[0], dim));
}

std::vector<Tensor> eager_sort_values(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const int64_t dim = dim_arg(op, attrs, x.dim());
  Tensor values = Tensor::empty(x.shape(), x.dtype());
  const int64_t length = kernels::lane_length(x, dim), stride = kernels::lane_stride(x, dim);
  const int64_t out_stride = kernels::lane_stride(values, dim);
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    kernels::for_each_lane(x, dim, [&](int64_t number) {
      thread_local std::vector<T> scratch;
      T* const out = values.data_as<T>() + lane_offset(values, dim, number);
      const T* const lane = x.data_as<T>() + lane_offset(x, dim, number);
      if constexpr (std::is_same_v<T, bool>) {
        const int64_t ones = [&] {
          int64_t count = 0;
          for (int64_t i = 0; i < length; ++i) count += lane[i * stride];
          return count;
        }();
        for (int64_t i = 0; i < length; ++i) out[i * out_stride] = i >= length - ones;
      } else {
        scratch.resize(static_cast<size_t>(length));
        for (int64_t i = 0; i < length; ++i) scratch[static_cast<size_t>(i)] = lane[i * stride];
        // NaNs go last first, so that the sort proper compares with plain `<`.
        auto end = scratch.end();
        if constexpr (kHasNan<T>) {
          end = std::stable_partition(scratch.begin(), scratch.end(), [](const T& v) { return !is_nan(v); });
        }
        if constexpr (kIsComplexType<T>) {
          std::sort(scratch.begin(), scratch.end(), Order<T>::less);
        } else {
          std::sort(scratch.begin(), end, [](const T& a, const T& b) { return a < b; });
        }
        for (int64_t i = 0; i < length; ++i) out[i * out_stride] = scratch[static_cast<size_t>(i)];
      }
    });
  });
  return {values};
}

std::vector<TensorType> infer_topk(const OpDef& op, std::span<const TensorType> operands,
                                   const Attrs& attrs) {
  const TensorType& x = operands[0];
  const int64_t dim = dim_arg(op, attrs, static_cast<int64_t>(x.shape.size()));
  const Sym k = sym_arg(attrs, "k");
  const Sym size = x.shape.empty() ? Sym(1) : x.shape[static_cast<size_t>(dim)];
  WEFT_CHECK(sym_ge(k, Sym(0)) && sym_le(k, size),
             fmt::format("{}: k out of range: expected 0 <= k <= {}, got {}{}", op.name, size.str(), k.str(),
                         describe_operands(op, operands)));
  TensorType values = x;
  if (!values.shape.empty()) values.shape[static_cast<size_t>(dim)] = k;
  return {values, TensorType{DType::I64, values.shape, x.device}};
}

std::vector<Tensor> eager_topk(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const int64_t dim = dim_arg(op, attrs, operands[0].dim());
  return select_by_rank(operands[0], dim, attrs.get_bool("largest"), int_arg(attrs, "k"));
}

std::vector<Tensor> kthvalue(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const int64_t dim = dim_arg(op, args.attrs, x.dim()), k = int_arg(args.attrs, "k");
  const int64_t size = x.dim() == 0 ? 1 : sym_specialize(sym_shape(x)[static_cast<size_t>(dim)]);
  WEFT_CHECK(k >= 1 && k <= size,
             fmt::format("kthvalue: k out of range: expected 1 <= k <= {}, got {}", size, k));
  std::vector<Tensor> sorted = call(get_op("sort"), {{x}, {{"dim", Sym(dim)}}});
  for (Tensor& result : sorted) {
    if (x.dim() == 0) continue;
    result = build::slice(result, dim, Sym(k - 1), Sym(k));
    if (!args.attrs.get_bool("keepdim")) result = build::squeeze(result, dim);
  }
  return sorted;
}

// Linear interpolation between order statistics. source: Hyndman and Fan 1996, definition 7 (NumPy's
// default).
std::vector<Tensor> quantile(const OpDef& op, const OpArgs& args) {
  Tensor x = args.tensors[0];
  const double q = float_arg(args.attrs, "q");
  WEFT_CHECK(q >= 0 && q <= 1, fmt::format("{}: q must be in [0, 1], got {}", op.name, q));
  const bool all = args.attrs.is_none("dim");
  const int64_t ndim = x.dim();
  if (all) x = build::reshape(x, {product(sym_shape(x))});
  const int64_t dim = all ? 0 : dim_arg(op, args.attrs, x.dim());
  const int64_t size = x.dim() == 0 ? 1 : sym_specialize(sym_shape(x)[static_cast<size_t>(dim)]);
  WEFT_CHECK(size > 0, fmt::format("{}: expected at least one element, got none", op.name));
  if (!is_inexact(x.dtype())) x = build::cast(x, DType::F64);
  const Tensor sorted = call1("sort_values", {x}, {{"dim", Sym(dim)}});
  const double position = q * static_cast<double>(size - 1);
  const int64_t low = static_cast<int64_t>(position), high = std::min(low + 1, size - 1);
  const auto at = [&](int64_t i) { return build::slice(sorted, dim, Sym(i), Sym(i + 1)); };
  const double weight = position - static_cast<double>(low);
  // As NumPy's _lerp: from the nearer end, so that the result stays between the two.
  const Tensor difference = build::sub(at(high), at(low));
  Tensor result = weight < 0.5 ? build::add(at(low), build::mul(difference, Scalar(weight)))
                               : build::sub(at(high), build::mul(difference, Scalar(1.0 - weight)));
  // NaNs sort last: one of them makes the quantile NaN.
  const Tensor last = at(size - 1);
  result = call1("where", {invoke("ne", {last, last}), last, result});
  if (!args.attrs.get_bool("keepdim")) return {build::squeeze(result, dim)};
  if (all) return {build::reshape(result, SymShape(static_cast<size_t>(ndim), Sym(1)))};
  return {result};
}

const char* const kSortDoc =
    "Elements in ascending order along `dim`, and where each came from: (values, int64 indices), shapes "
    "[*S].\n"
    "NaN comes last (first when descending). Stable: equal elements keep their order.\n"
    "dtype:  any. error: exact. raises: IndexError for a dimension that does not exist.";

[[maybe_unused]] const OpDef* const kOps[] = {
    &register_op(
        {.name = "sort",
         .schema = "(Tensor x, int dim=-1, bool descending=False, *, bool stable=True) -> (Tensor, Tensor)",
         .doc = kSortDoc,
         .numpy = "(numpy.sort(x, axis=dim), numpy.argsort(x, axis=dim, kind='stable'))",
         .methods = {""},
         .infer = infer_sort,
         .eager = eager_sort}),
    &register_op({.name = "sort_values",
                  .schema = "(Tensor x, int dim=-1) -> Tensor",
                  .doc = "Elements in ascending order along `dim`, NaN last: sort without the indices.\n"
                         "dtype:  any. error: exact.",
                  .numpy = "numpy.sort(x, axis=dim)",
                  .infer = infer_sort,
                  .eager = eager_sort_values}),
    &register_op(
        {.name = "topk",
         .schema = "(Tensor x, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor, Tensor)",
         .doc = "The k largest (or smallest) elements along `dim`, in order, and their int64 indices; NaN "
                "counts as\n"
                "the largest. Of equal elements the first come first.\n"
                "dtype:  any. error: exact. raises: ValueError unless 0 <= k <= size of the dimension.",
         .methods = {""},
         .infer = infer_topk,
         .eager = eager_topk}),
    &define_composite("argsort",
                      "(Tensor x, int dim=-1, bool descending=False, *, bool stable=True) -> Tensor",
                      "int64 positions that sort `x` along `dim`; stable, NaN last.",
                      "numpy.argsort(x, axis=dim, kind='stable')",
                      [](const OpDef&, const OpArgs& args) -> std::vector<Tensor> {
                        return {call(get_op("sort"), args).at(1)};
                      },
                      {}, {""}),
    &define_composite("kthvalue", "(Tensor x, int k, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)",
                      "The k-th smallest element (k from 1) along `dim` and its int64 index.\n"
                      "raises: ValueError unless 1 <= k <= size of the dimension.",
                      "", kthvalue, {}, {""}),
    &define_composite(
        "quantile", "(Tensor x, float q, int? dim=None, bool keepdim=False) -> Tensor",
        "The q-th quantile along `dim` (None: of all elements), linear between order statistics; NaN where "
        "there\n"
        "is one. dtype: floating; integers and bool in float64. raises: ValueError unless 0 <= q <= 1.\n"
        "source: Hyndman and Fan 1996, definition 7.",
        "numpy.quantile(x, q, axis=dim, keepdims=keepdim)", quantile, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
