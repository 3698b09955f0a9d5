// Rearrangements of channels and pixels, and sampling grids.
#include <fmt/format.h>

#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/composite.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;

// [batch, then] of the shape: all but the trailing `rank` dimensions.
SymShape leading(const Tensor& x, size_t rank) {
  const SymShape shape = sym_shape(x);
  return SymShape(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(rank));
}

Sym from_end(const Tensor& x, size_t d) {
  const SymShape shape = sym_shape(x);
  return shape[shape.size() - d];
}

int64_t factor_arg(const OpDef& op, const OpArgs& args, const char* name) {
  const int64_t factor = int_arg(args.attrs, name);
  WEFT_CHECK(factor > 0, fmt::format("{}: {} must be at least 1, got {}", op.name, name, factor));
  WEFT_CHECK(args.tensors[0].dim() >= 3, fmt::format("{}: expected an input of at least 3 dimensions, got {}",
                                                     op.name, type_of(args.tensors[0]).str()));
  return factor;
}

void check_divisible(const OpDef& op, const OpArgs& args, const char* what, Sym size, int64_t by) {
  WEFT_CHECK(sym_eq(floor_mod(size, Sym(by)), Sym(0)),
             fmt::format("{}: the {} must be divisible by {}, got {}\n  input: {}", op.name, what, by,
                         size.str(), type_of(args.tensors[0]).str()));
}

// Reshapes the trailing dimensions, permutes them (positions among the new ones), and reshapes again.
Tensor rearrange(const Tensor& x, size_t rank, const SymShape& split, const std::vector<int64_t>& order,
                 const SymShape& joined) {
  SymShape first = leading(x, rank), last = first;
  std::vector<int64_t> dims;
  const int64_t lead = static_cast<int64_t>(first.size());
  for (int64_t d = 0; d < lead; ++d) dims.push_back(d);
  for (const int64_t d : order) dims.push_back(lead + d);
  first.insert(first.end(), split.begin(), split.end());
  last.insert(last.end(), joined.begin(), joined.end());
  return build::reshape(build::permute(build::reshape(x, first), dims), last);
}

Tensors pixel_shuffle(const OpDef& op, const OpArgs& args) {
  const int64_t factor = factor_arg(op, args, "upscale_factor");
  const Tensor& x = args.tensors[0];
  const Sym channels = from_end(x, 3), height = from_end(x, 2), width = from_end(x, 1), r(factor);
  check_divisible(op, args, "number of channels", channels, factor * factor);
  const Sym kept = floor_div(channels, r * r);
  return {rearrange(x, 3, {kept, r, r, height, width}, {0, 3, 1, 4, 2}, {kept, height * r, width * r})};
}

Tensors pixel_unshuffle(const OpDef& op, const OpArgs& args) {
  const int64_t factor = factor_arg(op, args, "downscale_factor");
  const Tensor& x = args.tensors[0];
  check_divisible(op, args, "height", from_end(x, 2), factor);
  check_divisible(op, args, "width", from_end(x, 1), factor);
  const Sym r(factor), channels = from_end(x, 3), height = floor_div(from_end(x, 2), r),
                       width = floor_div(from_end(x, 1), r);
  return {
      rearrange(x, 3, {channels, height, r, width, r}, {0, 2, 4, 1, 3}, {channels * r * r, height, width})};
}

Tensors channel_shuffle(const OpDef& op, const OpArgs& args) {
  const int64_t groups = factor_arg(op, args, "groups");
  const Tensor& x = args.tensors[0];
  const SymShape shape = sym_shape(x);
  check_divisible(op, args, "number of channels", shape[1], groups);
  const Sym rest = product(SymShape(shape.begin() + 2, shape.end())), each = floor_div(shape[1], Sym(groups));
  const Tensor split = build::reshape(x, {shape[0], Sym(groups), each, rest});
  return {build::reshape(build::transpose(split, 1, 2), shape)};
}

// Positions of `size` pixels in [-1, 1]: of their centres, or with align_corners from end to end.
Tensor positions(const Sym& size, bool align_corners, const Tensor& like, const SymShape& view) {
  const Tensor steps = build::iota(size, Scalar(0.0), Scalar(1.0), like.dtype(), like.device());
  Tensor result;
  if (align_corners) {
    const Operand last = size_operand(sym_max(size - Sym(1), Sym(1)));
    result = build::sub(build::mul(invoke("true_divide", {steps, last}), Scalar(2.0)), Scalar(1.0));
    if (size.is_constant() && size.constant() == 1) result = build::mul(steps, Scalar(0.0));
  } else {
    const Tensor centres = build::add(build::mul(steps, Scalar(2.0)), Scalar(1.0));
    result = build::sub(invoke("true_divide", {centres, size_operand(size)}), Scalar(1.0));
  }
  return build::reshape(result, view);
}

Tensors affine_grid(const OpDef& op, const OpArgs& args) {
  const Tensor& theta = args.tensors[0];
  const SymShape size = list_arg(args.attrs, "size"), shape = sym_shape(theta);
  const size_t rank = size.size() - 2;
  WEFT_CHECK_TYPE(is_floating(theta.dtype()),
                  fmt::format("{}: expected floating theta, got {}", op.name, type_of(theta).str()));
  WEFT_CHECK(
      size.size() == 4 || size.size() == 5,
      fmt::format("{}: size: expected [N, C, H, W] or [N, C, D, H, W], got {}", op.name, weft::str(size)));
  for (const Sym& each : size)
    WEFT_CHECK(sym_gt(each, Sym(0)),
               fmt::format("{}: size must be positive, got {}", op.name, weft::str(size)));
  const Sym rows(static_cast<int64_t>(rank)), columns(static_cast<int64_t>(rank + 1));
  WEFT_CHECK(
      shape.size() == 3 && sym_eq(shape[0], size[0]) && sym_eq(shape[1], rows) && sym_eq(shape[2], columns),
      fmt::format("{}: expected theta[{}, {}, {}] for size {}, got {}", op.name, size[0].str(), rank,
                  rank + 1, weft::str(size), type_of(theta).str()));
  const Tensor compute = build::cast(theta, compute_dtype(theta.dtype()));
  const bool align_corners = args.attrs.get_bool("align_corners");
  // column j of theta as [N, 1, …, 1, rank]
  SymShape view(rank + 2, Sym(1));
  view.front() = size[0], view.back() = rows;
  const auto column = [&](size_t j) {
    return build::reshape(build::select(compute, 2, Sym(static_cast<int64_t>(j))), view);
  };
  Tensor grid = column(rank);
  for (size_t j = 0; j < rank; ++j) {  // x is the last dimension of the image
    SymShape along(rank + 2, Sym(1));
    along[rank - j] = size[size.size() - 1 - j];
    grid = build::add(
        build::mul(positions(size[size.size() - 1 - j], align_corners, compute, along), column(j)), grid);
  }
  return {build::cast(grid, theta.dtype())};
}

[[maybe_unused]] const OpDef* const kShuffleOps[] = {
    &define_composite(
        "pixel_shuffle", "(Tensor input, int upscale_factor) -> Tensor",
        "[…, C r**2, H, W] to […, C, H r, W r]: r**2 channels become r x r pixels. source: Shi et al. 2016.",
        "", pixel_shuffle),
    &define_composite("pixel_unshuffle", "(Tensor input, int downscale_factor) -> Tensor",
                      "[…, C, H r, W r] to […, C r**2, H, W]: the inverse of pixel_shuffle.", "",
                      pixel_unshuffle),
    &define_composite("channel_shuffle", "(Tensor input, int groups) -> Tensor",
                      "The channels of input[N, C, …], seen as [groups, C / groups], transposed. source: "
                      "Zhang et al. 2017.",
                      "", channel_shuffle),
    &define_composite("affine_grid", "(Tensor theta, int[] size, bool align_corners=False) -> Tensor",
                      "Where grid_sample reads for the affine maps theta[N, 2, 3] (or [N, 3, 4]) and a "
                      "result of size [N, C, H, W] (or\n"
                      "[N, C, D, H, W]): [N, H, W, 2], positions from -1 to 1, of the pixels' centres or "
                      "with align_corners of the\n"
                      "outermost pixels. source: Jaderberg et al. 2015.",
                      "", affine_grid),
};

}  // namespace
}  // namespace weft::ops
