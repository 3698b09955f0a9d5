// Views that only regroup dimensions, written over reshape and expand.
#include <fmt/format.h>

#include <algorithm>

#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;

Tensors flatten(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const SymShape shape = sym_shape(x);
  if (shape.empty()) {
    for (const char* name : {"start_dim", "end_dim"}) normalize_dim(op.name, int_arg(args.attrs, name), 1);
    return {build::reshape(x, {Sym(1)})};
  }
  const int64_t start = normalize_dim(op.name, int_arg(args.attrs, "start_dim"), x.dim());
  const int64_t end = normalize_dim(op.name, int_arg(args.attrs, "end_dim"), x.dim());
  WEFT_CHECK(start <= end,
             fmt::format("{}: start_dim must not come after end_dim: got {} and {}", op.name, start, end));
  SymShape result(shape.begin(), shape.begin() + start);
  result.push_back(product(SymShape(shape.begin() + start, shape.begin() + end + 1)));
  result.insert(result.end(), shape.begin() + end + 1, shape.end());
  return {build::reshape(x, result)};
}

Tensors unflatten(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  SymShape shape = sym_shape(x);
  WEFT_CHECK_INDEX(!shape.empty(), fmt::format("{}: a tensor of no dimensions has none to split", op.name));
  const int64_t dim = normalize_dim(op.name, int_arg(args.attrs, "dim"), x.dim());
  const SymShape sizes =
      resolve_shape(op.name, {shape.at(static_cast<size_t>(dim))}, list_arg(args.attrs, "sizes"));
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
  return {build::reshape(x, shape)};
}

Tensors squeeze(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const SymShape shape = sym_shape(x);
  std::vector<bool> drop(shape.size(), false);
  if (args.attrs.is_none("dim")) {
    for (size_t d = 0; d < shape.size(); ++d) drop[d] = sym_eq(shape[d], Sym(1));
  } else {
    for (const int64_t dim : normalize_dims(op.name, int_list_arg(args.attrs, "dim"), x.dim())) {
      if (shape.empty()) continue;
      const size_t d = static_cast<size_t>(dim);
      drop[d] = sym_eq(shape[d], Sym(1));
      WEFT_CHECK(drop[d] || args.rules == Promotion::Torch,
                 fmt::format("{}: cannot select an axis to squeeze out which has size not equal to one: "
                             "dimension {} has size {}",
                             op.name, d, shape[d].str()));
    }
  }
  SymShape result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!drop[d]) result.push_back(shape[d]);
  }
  return {build::reshape(x, result)};
}

Tensors unsqueeze(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const std::vector<int64_t> given = int_list_arg(args.attrs, "dim");
  const int64_t ndim = x.dim() + static_cast<int64_t>(given.size());
  std::vector<int64_t> dims = normalize_dims(op.name, given, ndim);
  std::sort(dims.begin(), dims.end());
  SymShape result = sym_shape(x);
  for (const int64_t dim : dims) result.insert(result.begin() + dim, Sym(1));
  return {build::reshape(x, result)};
}

// Dimensions added in front, except that atleast_3d puts one behind, as NumPy does.
Tensors atleast(const OpArgs& args, size_t ndim) {
  const Tensor& x = args.tensors[0];
  SymShape shape = sym_shape(x);
  if (shape.size() >= ndim) return {x};
  if (ndim == 3 && shape.size() == 2)
    shape.push_back(Sym(1));
  else if (ndim == 3 && shape.size() == 1)
    shape = {Sym(1), shape[0], Sym(1)};
  else
    shape.insert(shape.begin(), ndim - shape.size(), Sym(1));
  return {build::reshape(x, shape)};
}

// x repeated along every dimension: each gets a stretched companion in front, then the pairs are merged.
Tensor repeat(const Tensor& x, SymShape counts) {
  SymShape shape = sym_shape(x);
  if (shape.size() < counts.size()) shape.insert(shape.begin(), counts.size() - shape.size(), Sym(1));
  if (counts.size() < shape.size()) counts.insert(counts.begin(), shape.size() - counts.size(), Sym(1));
  SymShape spread, stretched, merged;
  bool is_copied = false, is_empty = false;  // by the last reshape, which of no elements is a view
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool once = sym_eq(counts[d], Sym(1));
    is_copied = is_copied || (!once && !sym_eq(shape[d], Sym(1)));
    is_empty = is_empty || sym_eq(shape[d], Sym(0)) || sym_eq(counts[d], Sym(0));
    if (!once) {
      spread.push_back(Sym(1));
      stretched.push_back(counts[d]);
    }
    spread.push_back(shape[d]);
    stretched.push_back(shape[d]);
    merged.push_back(counts[d] * shape[d]);
  }
  const Tensor result = build::reshape(build::expand(build::reshape(x, spread), stretched), merged);
  return is_copied && !is_empty ? result : result.clone();
}

SymShape repeat_counts(const OpDef& op, const OpArgs& args, std::string_view name) {
  const SymShape counts = list_arg(args.attrs, name);
  for (const Sym& count : counts) {
    WEFT_CHECK(sym_ge(count, Sym(0)),
               fmt::format("{}: counts must not be negative, got {}", op.name, weft::str(counts)));
  }
  return counts;
}

Tensors as_strided(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  if (x.is_traced()) {
    throw_error(ErrorKind::NotImplemented, fmt::format("{}: a traced tensor has no strides", op.name));
  }
  const int64_t offset =
      args.attrs.is_none("storage_offset") ? x.offset() : int_arg(args.attrs, "storage_offset");
  return {x.as_strided(int_list_arg(args.attrs, "size"), int_list_arg(args.attrs, "stride"), offset)};
}

[[maybe_unused]] const OpDef* const kViewShapesOps[] = {
    &define_composite(
        "flatten", "(Tensor x, int start_dim=0, int end_dim=-1) -> Tensor",
        "Merges dimensions start_dim to end_dim (inclusive) into one. A view where the strides allow.", "",
        flatten, {}, {""}),
    &define_composite("unflatten", "(Tensor x, int dim, int[] sizes) -> Tensor",
                      "Splits one dimension into several; one of the sizes may be -1.", "", unflatten, {},
                      {""}),
    &define_composite("ravel", "(Tensor x) -> Tensor",
                      "All elements in C order as one dimension. A view of a tensor whose elements lie so.",
                      "numpy.ravel(x)",
                      [](const OpDef&, const OpArgs& args) -> Tensors {
                        const Tensor& x = args.tensors[0];
                        const Tensor dense = !x.is_traced()      ? x.contiguous()
                                             : x.is_contiguous() ? x
                                                                 : x.clone();
                        return {build::reshape(dense, {product(sym_shape(x))})};
                      },
                      {}, {""}),
    &define_composite("squeeze", "(Tensor x, int[]? dim=None) -> Tensor",
                      "Without the dimensions of size 1 (None: all of them). Named dimensions of another "
                      "size stay; under NumPy's\n"
                      "rules they are a ValueError.",
                      "numpy.squeeze(x, dim)", squeeze, {}, {""}),
    &define_composite("unsqueeze", "(Tensor x, int[] dim) -> Tensor",
                      "New dimensions of size 1, at these positions of the result.",
                      "numpy.expand_dims(x, dim)", unsqueeze, {"expand_dims"}, {""}),
    &define_composite("atleast_1d", "(Tensor x) -> Tensor", "x with at least 1 dimension.",
                      "numpy.atleast_1d(x)",
                      [](const OpDef&, const OpArgs& args) { return atleast(args, 1); }),
    &define_composite("atleast_2d", "(Tensor x) -> Tensor",
                      "x with at least 2 dimensions; new ones come first.", "numpy.atleast_2d(x)",
                      [](const OpDef&, const OpArgs& args) { return atleast(args, 2); }),
    &define_composite("atleast_3d", "(Tensor x) -> Tensor",
                      "x with at least 3 dimensions: [n] becomes [1, n, 1], [m, n] becomes [m, n, 1].",
                      "numpy.atleast_3d(x)",
                      [](const OpDef&, const OpArgs& args) { return atleast(args, 3); }),
    &define_composite("tile", "(Tensor x, int[] dims) -> Tensor",
                      "x repeated dims[d] times along dimension d. Shorter of dims and x.shape is filled "
                      "with ones in front.",
                      "numpy.tile(x, dims)",
                      [](const OpDef& op, const OpArgs& args) -> Tensors {
                        return {repeat(args.tensors[0], repeat_counts(op, args, "dims"))};
                      },
                      {}, {""}),
    &define_composite(
        "repeat", "(Tensor x, int[] repeats) -> Tensor",
        "x repeated repeats[d] times along dimension d of the result; at least one count per dimension of x.",
        "numpy.tile(x, repeats)",
        [](const OpDef& op, const OpArgs& args) -> Tensors {
          const SymShape counts = repeat_counts(op, args, "repeats");
          WEFT_CHECK(static_cast<int64_t>(counts.size()) >= args.tensors[0].dim(),
                     fmt::format("{}: expected at least {} counts, got {}", op.name, args.tensors[0].dim(),
                                 counts.size()));
          return {repeat(args.tensors[0], counts)};
        },
        {}, {""}),
    &define_composite("as_strided",
                      "(Tensor x, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
                      "A view of x's storage with this shape, these strides (in elements) and this offset "
                      "(None: x's own).\n"
                      "ValueError when it would reach outside the storage; NotImplementedError while traced.",
                      "", as_strided, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
