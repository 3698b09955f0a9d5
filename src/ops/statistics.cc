// Order statistics written over sorting.
#include <fmt/format.h>

#include <algorithm>

#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

std::vector<Tensor> percentile(const OpDef&, const OpArgs& args) {
  return {call1("quantile", {args.tensors[0]},
                {{"q", float_arg(args.attrs, "q") / 100},
                 {"dim", args.attrs.at("dim")},
                 {"keepdim", args.attrs.at("keepdim")}})};
}

// NumPy's rules: the mean of the two middle elements; PyTorch's: the lower of the two.
std::vector<Tensor> median(const OpDef& op, const OpArgs& args) {
  const bool mean = args.rules == Promotion::NumPy, all = args.attrs.is_none("dim");
  Tensor x = args.tensors[0];
  const int64_t ndim = x.dim();
  if (mean && !is_inexact(x.dtype())) x = build::cast(x, DType::F64);
  if (all || ndim == 0) x = build::reshape(x, {product(sym_shape(x))});
  const int64_t dim = all ? 0 : normalize_dim(op.name, int_arg(args.attrs, "dim"), x.dim());
  const int64_t size = sym_specialize(sym_shape(x)[static_cast<size_t>(dim)]);
  WEFT_CHECK(size > 0, fmt::format("{}: expected at least one element, got none", op.name));
  const Tensor sorted = call1("sort_values", {x}, {{"dim", Sym(dim)}});
  const auto at = [&](int64_t i) { return build::slice(sorted, dim, Sym(i), Sym(i + 1)); };
  Tensor result = at((size - 1) / 2);
  if (mean && size % 2 == 0) result = build::mul(build::add(result, at(size / 2)), Scalar(0.5));
  if (is_inexact(x.dtype())) {
    const Tensor last = at(size - 1);  // NaN sort last: one of them makes the median NaN
    result = call1("where", {invoke("ne", {last, last}), last, result});
  }
  if (!args.attrs.get_bool("keepdim")) return {build::squeeze(result, dim)};
  if (all) return {build::reshape(result, SymShape(static_cast<size_t>(ndim), Sym(1)))};
  return {result};
}

// The element of `x` at `positions` along `dim`, which has size 1 in them, and these.
std::vector<Tensor> picked(const Tensor& x, const Tensor& positions, int64_t dim, bool keepdim) {
  const Tensor values = call1("gather", {x, positions}, {{"dim", Sym(dim)}});
  if (keepdim) return {values, positions};
  return {build::squeeze(values, dim), build::squeeze(positions, dim)};
}

// The lower of the two middle elements; a NaN is one if there is any, unless they are passed over.
std::vector<Tensor> median_along(const OpDef& op, const OpArgs& args, bool passes_over_nan) {
  const Tensor& x = args.tensors[0];
  const int64_t dim = normalize_dim(op.name, int_arg(args.attrs, "dim"), std::max<int64_t>(x.dim(), 1));
  if (x.dim() == 0) return {x, build::full({}, Scalar(0), DType::I64)};
  const bool keepdim = args.attrs.get_bool("keepdim");
  const int64_t size = sym_specialize(sym_shape(x)[static_cast<size_t>(dim)]);
  WEFT_CHECK_INDEX(
      size > 0, fmt::format("{}: expected at least one element along dimension {}, got none", op.name, dim));
  const Tensor order = call(get_op("sort"), {{x}, {{"dim", Sym(dim)}}}).at(1);
  const Tensor middle = build::slice(order, dim, Sym((size - 1) / 2), Sym((size - 1) / 2 + 1));
  if (!is_floating(x.dtype()))
    return picked(x, middle.is_traced() ? middle : middle.contiguous(), dim, keepdim);
  const Attrs along{{"dim", SymShape{Sym(dim)}}, {"keepdim", true}};
  const Tensor is_nan = call1("isnan", {x});
  if (passes_over_nan) {
    const Tensor count = call1("sum", {call1("logical_not", {is_nan})}, along);
    const Tensor rank = invoke("floor_divide", {build::sub(count, Scalar(1)), Scalar(2)});
    return picked(x, call1("gather", {order, invoke("maximum", {rank, Scalar(0)})}, {{"dim", Sym(dim)}}), dim,
                  keepdim);
  }
  const Tensor first_nan = call1("argmax", {x}, {{"dim", Sym(dim)}, {"keepdim", true}});
  return picked(x, call1("where", {call1("any", {is_nan}, along), first_nan, middle}), dim, keepdim);
}

constexpr const char* kMedianSchema = "(Tensor x, int dim, bool keepdim=False) -> (Tensor, Tensor)";

[[maybe_unused]] const OpDef* const kStatisticsOps[] = {
    &define_composite(
        "median_dim", kMedianSchema,
        "The middle element along `dim`, of two the lower one, and its int64 index: what median gives "
        "along a dimension\n"
        "under PyTorch's rules. NaN where there is one. raises: IndexError for no elements.",
        "", [](const OpDef& op, const OpArgs& args) { return median_along(op, args, false); }),
    &define_composite("nanmedian_dim", kMedianSchema,
                      "median_dim of the elements that are not NaN; NaN if all are.", "",
                      [](const OpDef& op, const OpArgs& args) { return median_along(op, args, true); }),
    &define_composite("percentile", "(Tensor x, float q, int? dim=None, bool keepdim=False) -> Tensor",
                      "quantile(x, q / 100). raises: ValueError unless 0 <= q <= 100.",
                      "numpy.percentile(x, q, axis=dim, keepdims=keepdim)", percentile),
    &define_composite("median", "(Tensor x, int? dim=None, bool keepdim=False) -> Tensor",
                      "The middle element along `dim` (None: of all elements); of two, the lower one "
                      "(NumPy's rules: their mean,\n"
                      "integers in float64). NaN where there is one. In Python, with `dim`, (values, "
                      "indices): median_dim.\n"
                      "raises: ValueError for no elements.",
                      "numpy.median(x, axis=dim, keepdims=keepdim)", median, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
