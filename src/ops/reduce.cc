// Reductions: the primitives that graphs contain.
#include <fmt/format.h>

#include <algorithm>

#include "ops/reduction.h"
#include "ops/registry.h"

namespace weft::ops {
namespace {

// Sum and Prod: `dtype`, else int64 for bool and integers, else the operand's.
DType result_dtype(const OpDef& op, DType operand, const Attrs& attrs) {
  switch (op.reduce) {
    case ReduceOp::Sum:
    case ReduceOp::Prod:
      if (!attrs.is_none("dtype")) return attrs.get<DType>("dtype");
      return is_inexact(operand) ? operand : operand == DType::U64 ? DType::U64 : DType::I64;
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax: return DType::I64;
    case ReduceOp::Any:
    case ReduceOp::All: return DType::Bool;
    default: return operand;
  }
}

// PyTorch's limit, and NumPy's of arrays.
constexpr size_t kMostReducedDims = 64;

std::vector<TensorType> infer_reduction(const OpDef& op, std::span<const TensorType> operands,
                                        const Attrs& attrs) {
  const TensorType& x = operands[0];
  WEFT_CHECK_TYPE(op.dtypes & dtype_bit(x.dtype),
                  fmt::format("{}: dtype not supported: expected {}, got {}{}", op.name, str(op.dtypes),
                              name(x.dtype), describe_operands(op, operands)));
  WEFT_CHECK(x.shape.size() <= kMostReducedDims,
             fmt::format("{}: only tensors with up to {} dims are supported, got {}", op.name,
                         kMostReducedDims, x.shape.size()));
  const std::vector<int64_t> axes = reduction_axes(op.name, attrs, static_cast<int64_t>(x.shape.size()));
  const bool keepdim = attrs.get_bool("keepdim");
  const bool has_identity = op.reduce == ReduceOp::Sum || op.reduce == ReduceOp::Prod ||
                            op.reduce == ReduceOp::Any || op.reduce == ReduceOp::All;
  TensorType result{result_dtype(op, x.dtype, attrs), {}, x.device};
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d))) {
      result.shape.push_back(x.shape[d]);
      continue;
    }
    WEFT_CHECK(
        has_identity || sym_ne(x.shape[d], Sym(0)),
        fmt::format(
            "{}: an empty reduction has no value: expected at least one element in dimension {}, got 0{}",
            op.name, d, describe_operands(op, operands)));
    if (keepdim) result.shape.push_back(Sym(1));
  }
  return {result};
}

std::vector<Tensor> eager_reduction(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  return {run_reduction(op.reduce, x, reduction_axes(op.name, attrs, x.dim()), attrs.get_bool("keepdim"),
                        result_dtype(op, x.dtype(), attrs))};
}

const OpDef& reduction(const char* name, ReduceOp reduce, DTypeSet dtypes, const char* doc,
                       std::vector<std::string> aliases = {}) {
  const bool arg = reduce == ReduceOp::ArgMin || reduce == ReduceOp::ArgMax;
  const bool accumulates = reduce == ReduceOp::Sum || reduce == ReduceOp::Prod;
  return register_op({
      .name = name,
      .schema = std::string("(Tensor x, ") + (arg ? "int? dim=None" : "int[]? dim=None") +
                ", bool keepdim=False" + (accumulates ? ", *, dtype? dtype=None" : "") + ") -> Tensor",
      .kind = OpKind::Reduction,
      .reduce = reduce,
      .dtypes = dtypes,
      .doc = doc,
      .numpy =
          fmt::format("numpy.{}(x, axis=dim, keepdims=keepdim{})", name, accumulates ? ", dtype=dtype" : ""),
      .aliases = std::move(aliases),
      .infer = infer_reduction,
      .eager = eager_reduction,
  });
}

[[maybe_unused]] const OpDef* const kReduceOps[] = {
    &reduction("sum", ReduceOp::Sum, kAllDTypes,
               "Sum over `dim` (None: over all dimensions). bool and integers add in int64 unless `dtype` "
               "says otherwise;\n"
               "float16 and bfloat16 add in float32.\n"
               "error: at most (40 + log2(n / 512)) * eps * sum(|x|): blocks of 512 (float32: 1024) in 16 "
               "accumulators and "
               "more, then pairwise."),
    &reduction("prod", ReduceOp::Prod, kAllDTypes,
               "Product over `dim` (None: over all dimensions). bool and integers multiply in int64 unless "
               "`dtype` says\n"
               "otherwise. error: n ULP."),
    &reduction("amin", ReduceOp::Min, kAllDTypes,
               "Smallest element over `dim`; NaN if there is one. ValueError over no elements."),
    &reduction("amax", ReduceOp::Max, kAllDTypes,
               "Largest element over `dim`; NaN if there is one. ValueError over no elements."),
    &reduction("argmin", ReduceOp::ArgMin, kAllDTypes,
               "int64 position of the smallest element along `dim` (None: in C order of all elements): the "
               "first of equal\n"
               "ones, the first NaN if there is one. ValueError over no elements."),
    &reduction("argmax", ReduceOp::ArgMax, kAllDTypes,
               "int64 position of the largest element along `dim` (None: in C order of all elements): the "
               "first of equal\n"
               "ones, the first NaN if there is one. ValueError over no elements."),
    &reduction("any", ReduceOp::Any, kAllDTypes,
               "Whether any element over `dim` differs from zero. False over no elements."),
    &reduction("all", ReduceOp::All, kAllDTypes,
               "Whether all elements over `dim` differ from zero. True over no elements."),
};

}  // namespace
}  // namespace weft::ops
