// Sliding blocks of images as columns, and their sum back.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/rows.h"
#include "ops/arguments.h"
#include "ops/window.h"
#include "weft/detail/visit_dtype.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;

// Blocks of an image along height and width.
struct Blocks {
  std::vector<int64_t> kernel, dilation, padding, stride;

  Blocks(const OpDef& op, const Attrs& attrs)
      : kernel(spatial_arg(op, attrs, "kernel_size", 2)),
        dilation(spatial_arg(op, attrs, "dilation", 2)),
        padding(spatial_arg(op, attrs, "padding", 2)),
        stride(spatial_arg(op, attrs, "stride", 2)) {
    check_window(op, "kernel_size", kernel, 1);
    check_window(op, "dilation", dilation, 1);
    check_window(op, "padding", padding, 0);
    check_window(op, "stride", stride, 1);
  }
  int64_t area() const { return kernel[0] * kernel[1]; }
  Sym count(Sym size, size_t d) const {
    return floor_div(size + Sym(2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1), Sym(stride[d])) + Sym(1);
  }
  // Position in the image of tap `k` of block `i`.
  int64_t at(int64_t i, int64_t k, size_t d) const { return i * stride[d] - padding[d] + k * dilation[d]; }
  // The blocks of which tap `k` is inside the image: [first, last).
  std::pair<int64_t, int64_t> inside(int64_t k, int64_t size, int64_t blocks, size_t d) const {
    const int64_t start = at(0, k, d);
    const int64_t first = start >= 0 ? 0 : (-start + stride[d] - 1) / stride[d];
    const int64_t last = start >= size ? 0 : (size - 1 - start) / stride[d] + 1;
    return {std::min(first, blocks), std::clamp(last, std::min(first, blocks), blocks)};
  }
};

void check_count(const OpDef& op, std::span<const TensorType> operands, const Sym& rows, const Sym& columns) {
  WEFT_CHECK(sym_ge(rows, Sym(1)) && sym_ge(columns, Sym(1)),
             fmt::format("{}: the image is smaller than one block: {} x {} blocks{}", op.name, rows.str(),
                         columns.str(), describe_operands(op, operands)));
}

std::vector<TensorType> infer_im2col(const OpDef& op, std::span<const TensorType> operands,
                                     const Attrs& attrs) {
  check_planes(op, operands, 2);
  const Blocks blocks(op, attrs);
  TensorType result = operands[0];
  const size_t channel = result.shape.size() - 3;
  const Sym rows = blocks.count(result.shape[channel + 1], 0),
            columns = blocks.count(result.shape[channel + 2], 1);
  check_count(op, operands, rows, columns);
  result.shape.pop_back();
  result.shape[channel] = result.shape[channel] * Sym(blocks.area());
  result.shape[channel + 1] = rows * columns;
  return {result};
}

// One row of columns: one tap of the kernel for one row of blocks.
template <class T>
void copy_taps(const Blocks& blocks, const T* row, int64_t width, int64_t tap, int64_t count, T* target) {
  const auto [first, last] = blocks.inside(tap, width, count, 1);
  std::fill(target, target + first, T{});
  const T* source = row + blocks.at(first, tap, 1);
  const int64_t stride = blocks.stride[1];
  if (stride == 1)
    std::copy(source, source + (last - first), target + first);
  else
    for (int64_t i = first; i < last; ++i) target[i] = source[(i - first) * stride];
  std::fill(target + last, target + count, T{});
}

Tensors eager_im2col(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Blocks blocks(op, attrs);
  const Tensor x = operands[0].contiguous();
  const std::vector<TensorType> types{type_of(x)};
  const Tensor result = Tensor::empty(known_shape(infer_im2col(op, types, attrs)[0].shape), x.dtype());
  const int64_t height = x.size(-2), width = x.size(-1), planes = x.numel() / (height * width);
  const int64_t rows = blocks.count(Sym(height), 0).constant(),
                columns = blocks.count(Sym(width), 1).constant();
  kernels::visit_width(itemsize(x.dtype()), [&]<class T>(std::type_identity<T>) {
    const int64_t taps = blocks.area();
    parallel_for(0, planes * taps, std::max<int64_t>(1, 16 * 1024 / (rows * columns)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t plane = i / taps, tap_row = i % taps / blocks.kernel[1],
                                   tap = i % blocks.kernel[1];
                     const T* image = static_cast<const T*>(x.data()) + plane * height * width;
                     T* target = static_cast<T*>(result.data()) + i * rows * columns;
                     for (int64_t r = 0; r < rows; ++r, target += columns) {
                       const int64_t at = blocks.at(r, tap_row, 0);
                       if (at < 0 || at >= height)
                         std::fill(target, target + columns, T{});
                       else
                         copy_taps(blocks, image + at * width, width, tap, columns, target);
                     }
                   }
                 });
  });
  return {result};
}

std::vector<TensorType> infer_col2im(const OpDef& op, std::span<const TensorType> operands,
                                     const Attrs& attrs) {
  check_dtype(op, operands);
  const Blocks blocks(op, attrs);
  TensorType result = operands[0];
  WEFT_CHECK(result.shape.size() == 2 || result.shape.size() == 3,
             fmt::format("{}: expected columns [C * kernel, blocks] or [N, C * kernel, blocks]{}", op.name,
                         describe_operands(op, operands)));
  const SymShape size = spatial_sizes(op, attrs, "output_size", 2);
  const Sym rows = blocks.count(size[0], 0), columns = blocks.count(size[1], 1), area(blocks.area());
  check_count(op, operands, rows, columns);
  const size_t channel = result.shape.size() - 2;
  WEFT_CHECK(
      sym_eq(floor_mod(result.shape[channel], area), Sym(0)),
      fmt::format("{}: dimension {} must be divisible by the {} elements of a block, got {}{}", op.name,
                  channel, area.str(), result.shape[channel].str(), describe_operands(op, operands)));
  WEFT_CHECK(sym_eq(result.shape[channel + 1], rows * columns),
             fmt::format("{}: output_size {} has {} x {} blocks: expected {} columns, got {}{}", op.name,
                         weft::str(size), rows.str(), columns.str(), (rows * columns).str(),
                         result.shape[channel + 1].str(), describe_operands(op, operands)));
  result.shape[channel] = floor_div(result.shape[channel], area);
  result.shape[channel + 1] = size[0];
  result.shape.push_back(size[1]);
  return {result};
}

template <class T>
void add_plane(const Blocks& blocks, const T* source, int64_t height, int64_t width, T* image) {
  const int64_t rows = blocks.count(Sym(height), 0).constant(),
                columns = blocks.count(Sym(width), 1).constant();
  std::fill(image, image + height * width, T(0));
  for (int64_t tap_row = 0; tap_row < blocks.kernel[0]; ++tap_row) {
    for (int64_t tap = 0; tap < blocks.kernel[1]; ++tap) {
      const auto [first, last] = blocks.inside(tap, width, columns, 1);
      for (int64_t r = 0; r < rows; ++r, source += columns) {
        const int64_t at = blocks.at(r, tap_row, 0);
        if (at < 0 || at >= height) continue;
        T* target = image + at * width + blocks.at(first, tap, 1);
        for (int64_t i = first; i < last; ++i) target[(i - first) * blocks.stride[1]] += source[i];
      }
    }
  }
}

Tensors eager_col2im(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Blocks blocks(op, attrs);
  const std::vector<TensorType> types{type_of(operands[0])};
  const Shape shape = known_shape(infer_col2im(op, types, attrs)[0].shape);
  return {run_in_compute_dtype(operands[0], shape, [&](const Tensor& x, const Tensor& result) {
    const int64_t height = result.size(-2), width = result.size(-1), area = height * width,
                  count = result.numel() / std::max<int64_t>(1, area);
    if (count == 0) return;
    const auto run = [&]<class T>(std::type_identity<T>) {
      parallel_for(0, count, std::max<int64_t>(1, 16 * 1024 / (area * blocks.area())),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t plane = begin; plane < end; ++plane)
                       add_plane(blocks, x.data_as<T>() + plane * (x.numel() / count), height, width,
                                 result.data_as<T>() + plane * area);
                   });
    };
    if (result.dtype() == DType::F32)
      run(std::type_identity<float>{});
    else
      run(std::type_identity<double>{});
  })};
}

[[maybe_unused]] const OpDef* const kFoldOps[] = {
    &register_op({.name = "im2col",
                  .schema = "(Tensor input, int[] kernel_size, int[] dilation=[1], int[] padding=[0], int[] "
                            "stride=[1]) -> Tensor",
                  .doc = "Sliding blocks of input[…, C, H, W] as columns […, C * kernel, blocks], zeros "
                         "outside: torch.nn.functional.unfold.",
                  .infer = infer_im2col,
                  .eager = eager_im2col}),
    &register_op(
        {.name = "col2im",
         .schema = "(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=[1], int[] "
                   "padding=[0], int[] stride=[1]) -> Tensor",
         .dtypes = kFloats,
         .doc = "Columns […, C * kernel, blocks] added up where their blocks lie in […, C, *output_size]: "
                "torch.nn.functional.fold.\n"
                "dtype:  floating. raises: ValueError when the number of blocks is not that of output_size.",
         .infer = infer_col2im,
         .eager = eager_col2im}),
};

}  // namespace
}  // namespace weft::ops
