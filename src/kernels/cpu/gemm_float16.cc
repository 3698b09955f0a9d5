#include "kernels/cpu/gemm_float16.h"

#include <algorithm>
#include <atomic>

#include "core/copy.h"
#include "core/rounding.h"
#include "kernels/cpu/packed_weights.h"
#include "kernels/cpu/product_scope.h"
#include "kernels/cpu/scratch.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kColumns = 2 * kPairColumns;  // of a task
constexpr int64_t kRows = 1024;                 // of a task: packing its columns is a small part of it
constexpr int64_t kDepth = 512;                 // taken at once: columns and sums stay in the second level
constexpr int64_t kGrainNumbers = 1 << 16;

// `count` numbers as two of bfloat16 each. `numbers`: room for as many floats.
void split_numbers(const BFloat16Kernels& engine, const Half* from, int64_t stride, int64_t count,
                   float* numbers, uint16_t* high, uint16_t* low) {
  convert_function(DType::F32, DType::F16)(numbers, 1, from, stride, count);
  engine.split(numbers, count, high, low);
}

// Lines of numbers where they lie: rows, or columns if those are contiguous.
bool is_finite(MatrixView<Half> x, int64_t rows, int64_t columns) {
  constexpr unsigned kExponent = 0x7c00;
  if (x.column_stride != 1 && x.row_stride == 1) {
    std::swap(rows, columns);
    std::swap(x.row_stride, x.column_stride);
  }
  std::atomic<bool> finite = true;
  parallel_for(0, rows, std::max<int64_t>(1, kGrainNumbers / columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && finite.load(std::memory_order_relaxed); ++i) {
      const auto* const line = reinterpret_cast<const uint16_t*>(x.data + i * x.row_stride);
      unsigned greatest = 0;
      if (x.column_stride == 1)
        for (int64_t j = 0; j < columns; ++j) greatest = std::max(greatest, line[j] & kExponent);
      else
        for (int64_t j = 0; j < columns; ++j)
          greatest = std::max(greatest, line[j * x.column_stride] & kExponent);
      if (greatest == kExponent) finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite;
}

class Float16Product {
 public:
  Float16Product(const BFloat16Kernels& engine, int64_t m, int64_t n, int64_t k, MatrixView<Half> a,
                 MatrixView<Half> b, const Half* bias, Half* c)
      : engine_(engine),
        m_(m),
        n_(n),
        k_(k),
        depth_(round_up(k, engine.depth_unit)),
        // Rows a multiple of 4 KiB apart would share their lines' places in the first-level cache.
        stride_(round_up(depth_, 64) + 32),
        b_(b),
        bias_(bias),
        c_(c),
        rows_(m * stride_) {
    parallel_for(0, m, std::max<int64_t>(1, kGrainNumbers / depth_), [&](int64_t begin, int64_t end) {
      thread_local Scratch scratch;
      float* const numbers = scratch.floats(k_);
      for (int64_t i = begin; i < end; ++i) {
        uint16_t *const high = row(i), *const low = high + m_ * stride_;
        split_numbers(engine_, a.data + i * a.row_stride, a.column_stride, k_, numbers, high, low);
        std::fill(high + k_, high + depth_, uint16_t{0});
        std::fill(low + k_, low + depth_, uint16_t{0});
      }
    });
  }

  void run() const {
    const int64_t parts = ceil_div(m_, kRows), columns = ceil_div(n_, kColumns);
    parallel_for(0, parts * columns, 1, [&](int64_t begin, int64_t end) {
      const ProductScope scope(engine_);
      for (int64_t task = begin; task < end; ++task)
        multiply(task / columns * m_ / parts, (task / columns + 1) * m_ / parts, task % columns * kColumns);
    });
  }

 private:
  // [2][m][stride]: numbers of a, rounded to bfloat16, and what that left.
  uint16_t* row(int64_t i) const { return reinterpret_cast<uint16_t*>(rows_.data()) + i * stride_; }

  // Columns [first, first + columns) of inputs [k, k + depth), as two times two panels of `padded` inputs.
  void pack(int64_t first, int64_t columns, int64_t k, int64_t padded, float* scratch, uint16_t* to) const {
    const bool by_rows = b_.column_stride == 1;
    const int64_t depth = std::clamp<int64_t>(k_ - k, 0, padded), lines = by_rows ? depth : columns,
                  length = by_rows ? columns : depth, stride = by_rows ? kColumns : padded;
    const Half* const from = b_.data + k * b_.row_stride + first * b_.column_stride;
    auto* const high = reinterpret_cast<uint16_t*>(scratch + kDepth);
    uint16_t* const low = high + kColumns * kDepth;
    for (int64_t i = 0; i < lines; ++i)
      split_numbers(engine_, from + i * (by_rows ? b_.row_stride : b_.column_stride),
                    by_rows ? b_.column_stride : b_.row_stride, length, scratch, high + i * stride,
                    low + i * stride);
    for (const auto& [part, panels] : {std::pair{high, to}, std::pair{low, to + padded * kColumns}})
      (by_rows ? engine_.pack_rows : engine_.pack_columns)({.b = part,
                                                            .stride = stride,
                                                            .columns = columns,
                                                            .depth = depth,
                                                            .padded_depth = padded,
                                                            .panels = panels,
                                                            .panel_stride = padded * kPairColumns});
  }

  void multiply(int64_t first_row, int64_t last_row, int64_t first) const {
    thread_local Scratch scratch;
    const int64_t columns = std::min(kColumns, n_ - first), rows = last_row - first_row,
                  tiles = ceil_div(rows, engine_.max_rows);
    float* const sums = scratch.floats(rows * kColumns + kDepth + 2 * kColumns * kDepth);
    float* const numbers = sums + rows * kColumns;
    auto* const panels = reinterpret_cast<uint16_t*>(numbers + kDepth + kColumns * kDepth);
    for (int64_t k = 0; k < depth_; k += kDepth) {
      const int64_t padded = std::min(kDepth, depth_ - k);
      pack(first, columns, k, padded, numbers, panels);
      for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t begin = tile * rows / tiles, end = (tile + 1) * rows / tiles;
        PairTile args{.a = row(first_row + begin) + k,
                      .a_stride = stride_,
                      .rows = end - begin,
                      .panels = panels,
                      .panel_stride = padded * kPairColumns,
                      .num_panels = ceil_div(columns, kPairColumns),
                      .depth = padded,
                      .start = nullptr,
                      .before = k > 0 ? sums + begin * kColumns : nullptr,
                      .sums = sums + begin * kColumns,
                      .sums_stride = kColumns,
                      .sums_step = kPairColumns,
                      .y = nullptr,
                      .y_stride = 0,
                      .columns = columns,
                      .low = row(m_ + first_row + begin) + k};
        engine_.multiply(args);
        args.panels += padded * kColumns;
        args.before = args.sums;
        engine_.multiply(args);
      }
    }
    finish(first_row, rows, first, columns, sums);
  }

  void finish(int64_t first_row, int64_t rows, int64_t first, int64_t columns, float* sums) const {
    const ConvertFn narrow = convert_function(DType::F16, DType::F32);
    for (int64_t i = 0; i < rows; ++i) {
      float* const line = sums + i * kColumns;
      for (int64_t j = 0; bias_ && j < columns; ++j) line[j] += static_cast<float>(bias_[first + j]);
      narrow(c_ + (first_row + i) * n_ + first, 1, line, 1, columns);
    }
  }

  const BFloat16Kernels& engine_;
  const int64_t m_, n_, k_, depth_, stride_;
  const MatrixView<Half> b_;
  const Half* const bias_;
  Half* const c_;
  const FloatBuffer rows_;
};

}  // namespace

bool gemm_float16(const BFloat16Kernels& engine, int64_t m, int64_t n, int64_t k, MatrixView<Half> a,
                  MatrixView<Half> b, const Half* bias, Half* c) {
  if (!is_finite(a, m, k) || !is_finite(b, k, n)) return false;
  Float16Product(engine, m, n, k, a, b, bias, c).run();
  return true;
}

}  // namespace weft::kernels
