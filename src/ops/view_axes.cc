// Views that reorder, reverse or pick along dimensions, written over permute, slice and reshape; and roll.
#include <fmt/format.h>

#include <algorithm>

#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;

std::vector<int64_t> all_dims(int64_t ndim) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < ndim; ++d) dims.push_back(d);
  return dims;
}

Tensors transpose(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const int64_t dim0 = normalize_dim(op.name, int_arg(args.attrs, "dim0"), x.dim());
  const int64_t dim1 = normalize_dim(op.name, int_arg(args.attrs, "dim1"), x.dim());
  return {x.dim() == 0 ? x : build::transpose(x, dim0, dim1)};
}

Tensors t(const OpDef& op, const OpArgs& args) {
  WEFT_CHECK(
      args.rules == Promotion::NumPy || args.tensors[0].dim() <= 2,
      fmt::format("{}: expected at most 2 dimensions, got {}", op.name, type_of(args.tensors[0]).str()));
  std::vector<int64_t> dims = all_dims(args.tensors[0].dim());
  std::reverse(dims.begin(), dims.end());
  return {dims.size() < 2 ? args.tensors[0] : build::permute(args.tensors[0], dims)};
}

Tensors movedim(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const std::vector<int64_t> from = normalize_dims(op.name, int_list_arg(args.attrs, "source"), x.dim());
  const std::vector<int64_t> to = normalize_dims(op.name, int_list_arg(args.attrs, "destination"), x.dim());
  WEFT_CHECK(from.size() == to.size(),
             fmt::format("{}: source and destination must have as many dimensions: got {} and {}", op.name,
                         from.size(), to.size()));
  if (x.dim() == 0) return {x};
  std::vector<int64_t> dims(static_cast<size_t>(x.dim()), -1);
  for (size_t i = 0; i < from.size(); ++i) dims[static_cast<size_t>(to[i])] = from[i];
  int64_t next = 0;
  for (int64_t& dim : dims) {
    if (dim >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    dim = next++;
  }
  return {build::permute(x, dims)};
}

Tensor flip(Tensor x, const std::vector<int64_t>& dims) {
  for (const int64_t dim : dims) x = build::slice(x, dim, std::nullopt, std::nullopt, -1);
  return x;
}

Tensors flip_op(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  if (x.dim() == 0) return {x};
  return {flip(x, args.attrs.is_none("dims")
                      ? all_dims(x.dim())
                      : normalize_dims(op.name, int_list_arg(args.attrs, "dims"), x.dim()))};
}

Tensors flip_one(const OpDef& op, const OpArgs& args, int64_t dim) {
  WEFT_CHECK(args.tensors[0].dim() > dim, fmt::format("{}: expected at least {} dimensions, got {}", op.name,
                                                      dim + 1, describe(args.tensors[0])));
  return {flip(args.tensors[0], {dim})};
}

Tensors rot90(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const std::vector<int64_t> dims = normalize_dims(op.name, int_list_arg(args.attrs, "dims"), x.dim());
  WEFT_CHECK(dims.size() == 2,
             fmt::format("{}: expected 2 dimensions to rotate in, got {}", op.name, dims.size()));
  switch ((int_arg(args.attrs, "k") % 4 + 4) % 4) {
    case 1: return {build::transpose(flip(x, {dims[1]}), dims[0], dims[1])};
    case 2: return {flip(x, dims)};
    case 3: return {flip(build::transpose(x, dims[0], dims[1]), {dims[1]})};
    default: return {x};
  }
}

Tensors select(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  WEFT_CHECK_INDEX(x.dim() > 0, fmt::format("{}: a 0-d tensor has no dimension to select from", op.name));
  return {build::select(x, normalize_dim(op.name, int_arg(args.attrs, "dim"), x.dim()),
                        sym_arg(args.attrs, "index"))};
}

Tensors narrow(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  WEFT_CHECK(x.dim() > 0, fmt::format("{}: a 0-d tensor cannot be narrowed", op.name));
  const int64_t dim = normalize_dim(op.name, int_arg(args.attrs, "dim"), x.dim());
  const Sym size = sym_shape(x)[static_cast<size_t>(dim)];
  Sym start = sym_arg(args.attrs, "start");
  const Sym length = sym_arg(args.attrs, "length");
  if (sym_lt(start, Sym(0))) start = start + size;
  WEFT_CHECK_INDEX(sym_ge(start, Sym(0)) && sym_ge(length, Sym(0)) && sym_le(start + length, size),
                   fmt::format("{}: start {} and length {} reach outside dimension {} of size {}", op.name,
                               start.str(), length.str(), dim, size.str()));
  return {build::slice(x, dim, {start, start + length, 1, length})};
}

Tensors roll(const OpDef& op, const OpArgs& args) {
  Tensor x = args.tensors[0];
  std::vector<int64_t> shifts = int_list_arg(args.attrs, "shifts"), dims;
  const SymShape original = sym_shape(x);
  const bool flat = args.attrs.is_none("dims");
  if (flat) {
    x = build::reshape(x, {product(original)});
    dims.assign(shifts.size(), 0);
  } else {
    dims = int_list_arg(args.attrs, "dims");
    WEFT_CHECK_INDEX(x.dim() > 0 || dims.empty(),
                     fmt::format("{}: dims {} of a tensor without dimensions", op.name, weft::str(dims)));
    for (int64_t& dim : dims) dim = normalize_dim(op.name, dim, x.dim());
    if (shifts.size() == 1) shifts.resize(dims.size(), shifts[0]);
  }
  WEFT_CHECK(shifts.size() == dims.size(),
             fmt::format("{}: expected a shift per dimension: got {} shifts, {} dimensions", op.name,
                         shifts.size(), dims.size()));
  for (size_t i = 0; i < dims.size(); ++i) {
    const Sym size = sym_shape(x)[static_cast<size_t>(dims[i])];
    if (sym_eq(size, Sym(0))) continue;
    const Sym shift = floor_mod(Sym(shifts[i]), size);
    if (sym_eq(shift, Sym(0))) continue;
    const Sym cut = size - shift;
    x = build::join(
        {build::slice(x, dims[i], {cut, size, 1, shift}), build::slice(x, dims[i], {Sym(0), cut, 1, cut})},
        dims[i]);
  }
  return {flat ? build::reshape(x, original) : x};
}

[[maybe_unused]] const OpDef* const kViewAxesOps[] = {
    &define_composite("transpose", "(Tensor x, int dim0, int dim1) -> Tensor",
                      "x with two dimensions exchanged.", "numpy.swapaxes(x, dim0, dim1)", transpose,
                      {"swapaxes", "swapdims"}, {"", "swapaxes"}),
    &define_composite("t", "(Tensor x) -> Tensor", "x with its dimensions in reverse order.",
                      "numpy.transpose(x)", t, {}, {""}),
    &define_composite("movedim", "(Tensor x, int[] source, int[] destination) -> Tensor",
                      "Moves dimensions to new positions; the others keep their order.",
                      "numpy.moveaxis(x, source, destination)", movedim, {"moveaxis"}, {""}),
    &define_composite("flip", "(Tensor x, int[]? dims=None) -> Tensor",
                      "x with dimensions reversed (None: all). A view.", "numpy.flip(x, dims)", flip_op, {},
                      {""}),
    &define_composite("fliplr", "(Tensor x) -> Tensor", "x with dimension 1 reversed. A view.",
                      "numpy.fliplr(x)",
                      [](const OpDef& op, const OpArgs& args) { return flip_one(op, args, 1); }),
    &define_composite("flipud", "(Tensor x) -> Tensor", "x with dimension 0 reversed. A view.",
                      "numpy.flipud(x)",
                      [](const OpDef& op, const OpArgs& args) { return flip_one(op, args, 0); }),
    &define_composite(
        "rot90", "(Tensor x, int k=1, int[] dims=[0, 1]) -> Tensor",
        "x turned k times by 90 degrees, from the first of the two dimensions towards the second. A view.",
        "numpy.rot90(x, k, dims)", rot90, {}, {""}),
    &define_composite("select", "(Tensor x, int dim, int index) -> Tensor",
                      "x at one index of a dimension, which is dropped. A view.", "numpy.take(x, index, dim)",
                      select, {}, {""}),
    &define_composite(
        "narrow", "(Tensor x, int dim, int start, int length) -> Tensor",
        "Elements start to start + length of one dimension. A view. IndexError when they reach outside.", "",
        narrow, {}, {""}),
    &define_composite("roll", "(Tensor x, int[] shifts, int[]? dims=None) -> Tensor",
                      "Elements moved by `shifts` positions along dimensions, those pushed out coming back "
                      "at the other end\n"
                      "(None: along the flattened array).",
                      "numpy.roll(x, shifts, dims)", roll, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
