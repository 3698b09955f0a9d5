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

[[maybe_unused]] const OpDef* const kOps[] = {
    &define_composite("percentile", "(Tensor x, float q, int? dim=None, bool keepdim=False) -> Tensor",
                      "quantile(x, q / 100). raises: ValueError unless 0 <= q <= 100.",
                      "numpy.percentile(x, q, axis=dim, keepdims=keepdim)", percentile),
    &define_composite("median", "(Tensor x, int? dim=None, bool keepdim=False) -> Tensor",
                      "The middle element along `dim` (None: of all elements); of two, the lower one "
                      "(NumPy's rules: their mean,\n"
                      "integers in float64). NaN where there is one. raises: ValueError for no elements.",
                      "numpy.median(x, axis=dim, keepdims=keepdim)", median, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
