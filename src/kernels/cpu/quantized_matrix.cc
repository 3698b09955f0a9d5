// Products with packed weights: few rows, where each thread streams its part of the weights once.
#include "kernels/cpu/quantized_matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "weft/detail/visit_dtype.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// Memory that a thread keeps for its next call. Not touched before it is written.
class Scratch {
 public:
  float* floats(int64_t count) {
    if (count > count_) {
      buffer_ = FloatBuffer(count);
      count_ = count;
    }
    return buffer_.data();
  }

 private:
  FloatBuffer buffer_;
  int64_t count_ = 0;
};

template <class T>
void convert_rows(const T* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
                  int64_t to_stride) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * to_stride + j] = static_cast<float>(from[i * from_stride + j]);
}

void to_floats(const RowsView& from, int64_t first_row, int64_t rows, int64_t first_column, int64_t columns,
               float* to, int64_t to_stride) {
  const int64_t start = first_row * from.stride + first_column;
  if (from.dtype == DType::F16)
    return convert_rows(static_cast<const Half*>(from.data) + start, from.stride, rows, columns, to,
                        to_stride);
  if (from.dtype == DType::BF16)
    return convert_rows(static_cast<const BFloat16*>(from.data) + start, from.stride, rows, columns, to,
                        to_stride);
  convert_rows(static_cast<const float*>(from.data) + start, from.stride, rows, columns, to, to_stride);
}

template <class T>
void round_rows(const float* from, int64_t from_stride, int64_t rows, int64_t columns, T* to,
                int64_t to_stride) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) to[i * to_stride + j] = T(from[i * from_stride + j]);
}

}  // namespace

// Activations in float32, with zeros for the inputs that were added to fill the last step or group.
struct PackedMatrix::Rows {
  const float* x;
  int64_t stride;
  const float* sums = nullptr;  // Int4: of each group
  int64_t sums_stride = 0;
};

void PackedMatrix::multiply(const ProductArgs& args) const {
  thread_local Scratch scratch;
  const int64_t groups = format_ == WeightFormat::Int4 ? packed_in_ / group_ : 0;
  const bool copy = args.x.dtype != DType::F32 || packed_in_ != in_;
  for (int64_t first = 0; first < args.rows; first += kMaxSmallBatch) {
    ProductArgs part = args;
    part.rows = std::min<int64_t>(kMaxSmallBatch, args.rows - first);
    const auto advance = [first](RowsView& view) {
      if (view.data)
        view.data = static_cast<std::byte*>(view.data) + first * view.stride * itemsize(view.dtype);
    };
    advance(part.x), advance(part.y), advance(part.residual);
    float* const floats = scratch.floats(part.rows * (groups + (copy ? packed_in_ : 0)) + 1);
    Rows rows{static_cast<const float*>(part.x.data), part.x.stride, floats, groups};
    if (copy) {
      float* const padded = floats + part.rows * groups;
      to_floats(part.x, 0, part.rows, 0, in_, padded, packed_in_);
      for (int64_t i = 0; i < part.rows; ++i)
        std::fill(padded + i * packed_in_ + in_, padded + (i + 1) * packed_in_, 0.0f);
      rows.x = padded, rows.stride = packed_in_;
    }
    for (int64_t i = 0; i < part.rows * groups; ++i) {
      const float* const x = rows.x + i / groups * rows.stride + i % groups * group_;
      float sum = 0;
      for (int64_t k = 0; k < group_; ++k) sum += x[k];
      floats[i] = sum;
    }
    multiply_small(part, rows);
  }
}

// What one region needs, by reference: a std::function would allocate.
struct PackedMatrix::SmallBatch {
  const PackedMatrix& matrix;
  const ProductArgs& args;
  const Rows& x;

  static void run(void* context, int64_t begin, int64_t end) {
    const SmallBatch& self = *static_cast<const SmallBatch*>(context);
    for (int64_t panel = begin; panel < end; ++panel) self.run_panel(panel);
  }

  void run_panel(int64_t panel) const {
    const QuantizedKernels& kernels = quantized_kernels();
    alignas(64) float sums[kMaxSmallBatch * kPanel];
    const PanelFn* const multiply = kernels.multiply[static_cast<int>(matrix.format_)];
    for (int64_t first = 0; first < args.rows; first += kernels.max_rows) {
      const int64_t rows = std::min<int64_t>(kernels.max_rows, args.rows - first);
      multiply[rows](
          {.x = x.x + first * x.stride,
           .x_stride = x.stride,
           .k = matrix.packed_in_,
           .weights = static_cast<const uint8_t*>(matrix.weights_->data()) + panel * matrix.panel_bytes_,
           .scales = matrix.scales_.data() ? matrix.scales_.data() + panel * kPanel : nullptr,
           .group = matrix.group_,
           .x_sums = x.sums + first * x.sums_stride,
           .sums_stride = x.sums_stride,
           .y = sums + first * kPanel});
    }
    matrix.finish(args, 0, args.rows, panel, 1, sums);
  }
};

void PackedMatrix::multiply_small(const ProductArgs& args, const Rows& x) const {
  constexpr int64_t kGrainBytes = 128 << 10;
  SmallBatch batch{*this, args, x};
  parallel_for_raw(0, panels_, std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, panel_bytes_)),
                   SmallBatch::run, &batch);
}

// Rows [first_row, first_row + rows) of `panels` panels, whose sums are [rows][panels * 64].
void PackedMatrix::finish(const ProductArgs& args, int64_t first_row, int64_t rows, int64_t panel,
                          int64_t panels, const float* sums) const {
  const int64_t width = gated_ ? kPanel / 2 : kPanel, column = panel * width;
  FinishArgs finish{.rows = rows,
                    .columns = std::min(panels * width, out() - column),
                    .gated = gated_,
                    .activation = args.activation,
                    .sums = sums,
                    .sums_stride = panels * kPanel,
                    .bias = bias_.data() ? bias_.data() + panel * kPanel : nullptr,
                    .residual = nullptr,
                    .residual_stride = args.residual.stride,
                    .y = nullptr,
                    .y_stride = args.y.stride};
  if (args.y.dtype == DType::F32) {
    if (args.residual.data)
      finish.residual =
          static_cast<const float*>(args.residual.data) + first_row * args.residual.stride + column;
    finish.y = static_cast<float*>(args.y.data) + first_row * args.y.stride + column;
    return quantized_kernels().finish(finish);
  }
  // In float32 by one row and panel, rounded once.
  alignas(64) float residual[kPanel], y[kPanel];
  finish.rows = 1;
  finish.residual_stride = finish.y_stride = 0;
  for (int64_t i = first_row; i < first_row + rows; ++i) {
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t start = column + p * width, columns = std::min(width, out() - start);
      finish.columns = columns;
      finish.sums = sums + (i - first_row) * panels * kPanel + p * kPanel;
      if (bias_.data()) finish.bias = bias_.data() + (panel + p) * kPanel;
      if (args.residual.data) to_floats(args.residual, i, 1, start, columns, residual, kPanel);
      finish.residual = args.residual.data ? residual : nullptr;
      finish.y = y;
      quantized_kernels().finish(finish);
      const int64_t at = i * args.y.stride + start;
      if (args.y.dtype == DType::F16)
        round_rows(y, kPanel, 1, columns, static_cast<Half*>(args.y.data) + at, 0);
      else
        round_rows(y, kPanel, 1, columns, static_cast<BFloat16*>(args.y.data) + at, 0);
    }
  }
}

}  // namespace weft::kernels
