#include "kernels/cpu/gemm.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/packed_weights.h"
#include "runtime/autotune.h"
#include "runtime/interruption.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// Up to so many rows, packing b would cost more than it gives.
constexpr int64_t kFewTileRows = kMaxTileRows, kMostLanes = 16;
constexpr int64_t kGrainProducts = 1 << 16, kSmallProducts = 1 << 18;

MatrixView<float> transposed(MatrixView<float> x) { return {x.data, x.column_stride, x.row_stride}; }

// A matrix whose rows are contiguous: `x` itself or a copy.
class RowMajor {
 public:
  RowMajor(MatrixView<float> x, int64_t rows, int64_t columns) : data(x.data), stride(x.row_stride) {
    if (x.column_stride == 1 || columns == 1) return;
    copy_ = FloatBuffer(rows * columns);
    data = copy_.data(), stride = columns;
    const int64_t grain = std::max<int64_t>(1, (1 << 15) / columns);
    parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
      float* const to = copy_.data() + begin * columns;
      const float* const from = x.data + begin * x.row_stride;
      if (x.row_stride == 1)
        return gemm_kernels().transpose(columns, end - begin, from, x.column_stride, to, columns);
      for (int64_t i = 0; i < end - begin; ++i)
        for (int64_t j = 0; j < columns; ++j)
          to[i * columns + j] = from[i * x.row_stride + j * x.column_stride];
    });
  }
  const float* data;
  int64_t stride;

 private:
  FloatBuffer copy_;
};

bool rows_contiguous(MatrixView<float> x, int64_t columns) { return x.column_stride == 1 || columns == 1; }

// Few rows of a, columns of b contiguous: inner products.
void by_dots(int64_t m, int64_t n, int64_t k, const RowMajor& a, MatrixView<float> b, float* c) {
  const int64_t grain = std::max<int64_t>(4, kGrainProducts / std::max<int64_t>(1, m * k));
  parallel_for(0, (n + 3) / 4, (grain + 3) / 4, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * 4, count = std::min(n, end * 4) - first;
    gemm_kernels().dots(m, count, k, a.data, a.stride, b.data + first * b.column_stride, b.column_stride,
                        c + first, n);
  });
}

// Few rows of a, rows of b contiguous: every row of c is a combination of b's rows.
void by_rows(int64_t m, int64_t n, int64_t k, const RowMajor& a, const RowMajor& b, float* c) {
  constexpr int64_t kFewest = 256, kMost = 2048, kDepth = 128;
  // Long stretches of b's rows keep what is read ahead useful; the sums do not depend on their length.
  const int64_t threads = in_parallel_region() ? 1 : get_num_threads();
  const int64_t width = std::clamp((n / (2 * threads) + 63) / 64 * 64, kFewest, kMost),
                chunks = (n + width - 1) / width;
  parallel_for(0, chunks, std::max<int64_t>(1, kGrainProducts / (width * m * k)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t chunk = begin; chunk < end; ++chunk) {
                   const int64_t first = chunk * width, columns = std::min(width, n - first);
                   for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * n + first, columns, 0.0f);
                   for (int64_t p = 0; p < k; p += kDepth) {
                     for (int64_t i = 0; i < m; ++i)
                       gemm_kernels().combine(std::min(kDepth, k - p), columns, a.data + i * a.stride + p,
                                              b.data + p * b.stride + first, b.stride, c + i * n + first);
                   }
                 }
               });
}

// Rows [p0, p1) of the columns of b from `first` on, as `block` wants them.
void pack_part(const WeightBlock& block, int64_t p0, int64_t p1, MatrixView<float> b, int64_t first,
               float* to) {
  const int64_t width = block.vectors * gemm_kernels().lanes;
  const float* const from = b.data + p0 * b.row_stride + (first + block.channel) * b.column_stride;
  float* const panel = to + block.offset + p0 * width;
  if (block.columns < width) std::fill_n(panel, (p1 - p0) * width, 0.0f);
  if (b.column_stride == 1) {
    for (int64_t p = 0; p < p1 - p0; ++p)
      std::copy_n(from + p * b.row_stride, block.columns, panel + p * width);
  } else if (b.row_stride == 1) {
    gemm_kernels().transpose(block.columns, p1 - p0, from, b.column_stride, panel, width);
  } else {
    for (int64_t p = 0; p < p1 - p0; ++p)
      for (int64_t j = 0; j < block.columns; ++j)
        panel[p * width + j] = from[p * b.row_stride + j * b.column_stride];
  }
}

void pack(const std::vector<WeightBlock>& blocks, int64_t k, MatrixView<float> b, float* to) {
  constexpr int64_t kDepth = 256;
  const int64_t parts = (k + kDepth - 1) / kDepth, count = static_cast<int64_t>(blocks.size());
  parallel_for(0, count * parts, 4, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t p0 = item % parts * kDepth;
      pack_part(blocks[static_cast<size_t>(item / parts)], p0, std::min(k, p0 + kDepth), b, 0, to);
    }
  });
}

// One tile of rows of a, rows of b contiguous: b where it lies. Every thread goes through a stretch of its
// columns a few rows at a time, so that memory is read along rows; tiles ask for what the next one of the
// same rows needs.
void in_place(int64_t m, int64_t n, int64_t k, const RowMajor& a, const RowMajor& b, float* c) {
  constexpr int64_t kDepth = 32, kMost = 1024;
  const GemmKernels& kernels = gemm_kernels();
  const int64_t width = 2 * kernels.lanes, blocks = (n + width - 1) / width;
  const int64_t threads = in_parallel_region() ? 1 : get_num_threads();
  const int64_t per_chunk = std::clamp((blocks + 2 * threads - 1) / (2 * threads), int64_t{1}, kMost / width),
                chunks = (blocks + per_chunk - 1) / per_chunk;
  parallel_for(
      0, chunks, std::max<int64_t>(1, kGrainProducts / (per_chunk * width * m * k)),
      [&](int64_t begin, int64_t end) {
        std::array<const float*, kMaxTileRows> rows;
        std::array<float, kDepth * 2 * kMostLanes> whole;  // of the last columns: whole vectors are read
        for (int64_t chunk = begin; chunk < end; ++chunk) {
          for (int64_t p = 0; p < k; p += kDepth) {
            const int64_t depth = std::min(kDepth, k - p);
            for (int64_t i = 0; i < m; ++i) rows[static_cast<size_t>(i)] = a.data + i * a.stride + p;
            for (int64_t block = chunk * per_chunk; block < std::min(blocks, (chunk + 1) * per_chunk);
                 ++block) {
              const int64_t first = block * width, columns = std::min(width, n - first);
              const float* weights = b.data + p * b.stride + first;
              int64_t stride = b.stride;
              if (columns < width || stride == 0) {  // of one row over and over; no stride is a packed block
                for (int64_t q = 0; q < depth; ++q)
                  std::copy_n(weights + q * stride, columns, whole.data() + q * width);
                weights = whole.data(), stride = width;
              }
              compute_tile({.columns = columns, .vectors = 2}, weights, {rows.data(), 1, depth},
                           {.accumulate = p > 0}, 0, m, c + first, n, stride);
            }
          }
        }
      });
}

// A product that one thread does: nothing is allocated.
void multiply_small(int64_t m, int64_t n, int64_t k, const RowMajor& a, MatrixView<float> b, float* c,
                    bool accumulate = false) {
  thread_local std::vector<float> panel;
  const int64_t lanes = gemm_kernels().lanes;
  panel.resize(static_cast<size_t>(std::max<int64_t>(static_cast<int64_t>(panel.size()), k * 2 * lanes)));
  std::array<const float*, kMaxTileRows> rows;
  const TileRange tiles(m);
  for (int64_t first = 0; first < n; first += 2 * lanes) {
    const WeightBlock block{.columns = std::min(2 * lanes, n - first), .vectors = n - first > lanes ? 2 : 1};
    pack_part(block, 0, k, b, first, panel.data());
    for (int64_t tile = 0; tile < tiles.count; ++tile) {
      const int64_t begin = tiles.begin(tile), count = tiles.begin(tile + 1) - begin;
      for (int64_t i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = a.data + (begin + i) * a.stride;
      compute_tile(block, panel.data(), {rows.data(), 1, k}, {.accumulate = accumulate}, begin, count,
                   c + first, n);
    }
  }
}

// What of a product is computed: tiles below the diagonal may be left out.
enum class Part { All, Upper };

bool is_left_out(Part wanted, int64_t first_row, const WeightBlock& block) {
  return wanted == Part::Upper && first_row >= block.channel + block.columns;
}

// Few columns: b is packed once, and the rows are divided among the threads.
void multiply_packed(int64_t m, int64_t n, int64_t k, const RowMajor& a, MatrixView<float> b, float* c,
                     Part wanted, bool accumulate) {
  const std::vector<WeightBlock> blocks = weight_blocks(1, n, k);
  const WeightBlock& last = blocks.back();
  const FloatBuffer panels(last.offset + k * last.vectors * gemm_kernels().lanes);
  pack(blocks, k, b, panels.data());
  const TileRange tiles(m);
  for_each_tile(blocks, k, tiles,
                [&](int64_t first_block, int64_t end_block, int64_t first_tile, int64_t end_tile) {
                  std::array<const float*, kMaxTileRows> rows;
                  for (int64_t tile = first_tile; tile < end_tile; ++tile) {
                    runtime::check_interrupt();
                    const int64_t begin = tiles.begin(tile), count = tiles.begin(tile + 1) - begin;
                    for (int64_t i = 0; i < count; ++i)
                      rows[static_cast<size_t>(i)] = a.data + (begin + i) * a.stride;
                    for (int64_t block = first_block; block < end_block; ++block) {
                      if (is_left_out(wanted, begin, blocks[static_cast<size_t>(block)])) continue;
                      compute_tile(blocks[static_cast<size_t>(block)], panels.data(), {rows.data(), 1, k},
                                   {.accumulate = accumulate}, begin, count, c, n);
                    }
                  }
                });
}

// Many columns: every thread packs some of them, a piece of the depth at a time that its second-level cache
// holds, and multiplies all rows with it.
void multiply_by_columns(int64_t m, int64_t n, int64_t k, const RowMajor& a, MatrixView<float> b, float* c,
                         Part wanted, bool accumulate) {
  constexpr int64_t kDepth = 1024, kMostBlocks = 6;
  const int64_t lanes = gemm_kernels().lanes, width = 2 * lanes, blocks = (n + width - 1) / width;
  const int64_t per_group = std::clamp<int64_t>(blocks / 8, 1, kMostBlocks),
                groups = (blocks + per_group - 1) / per_group;
  const TileRange tiles(m);
  parallel_for(0, groups, 1, [&](int64_t begin, int64_t end) {
    const FloatBuffer panels(per_group * width * std::min(k, kDepth));
    std::array<const float*, kMaxTileRows> rows;
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * per_group * width, columns = std::min(per_group * width, n - first);
      for (int64_t p = 0; p < k; p += kDepth) {
        const int64_t depth = std::min(kDepth, k - p);
        const std::vector<WeightBlock> parts = weight_blocks(1, columns, depth);
        const MatrixView<float> slice{b.data + p * b.row_stride, b.row_stride, b.column_stride};
        for (const WeightBlock& part : parts) pack_part(part, 0, depth, slice, first, panels.data());
        for (int64_t tile = 0; tile < tiles.count; ++tile) {
          runtime::check_interrupt();
          const int64_t top = tiles.begin(tile), count = tiles.begin(tile + 1) - top;
          for (int64_t i = 0; i < count; ++i)
            rows[static_cast<size_t>(i)] = a.data + (top + i) * a.stride + p;
          for (const WeightBlock& part : parts) {
            if (is_left_out(wanted, top - first, part)) continue;
            compute_tile(part, panels.data(), {rows.data(), 1, depth}, {.accumulate = accumulate || p > 0},
                         top, count, c + first, n);
          }
        }
      }
    }
  });
}

// By what is measured to be the fastest way where that is asked for.
void multiply_measured(int64_t m, int64_t n, int64_t k, const RowMajor& left, MatrixView<float> a,
                       MatrixView<float> b, float* c, bool wide) {
  static constexpr const char* kOfWide[] = {"columns packed by each thread", "all columns packed first",
                                            "BLAS"};
  static constexpr const char* kOfNarrow[] = {"all columns packed first", "columns packed by each thread",
                                              "BLAS"};
  const auto multiply = [&](size_t way, int64_t rows, float* to) {
    if (way == 2)
      library_product(rows, n, k, a, b, to);
    else
      ((way == 0) == wide ? multiply_by_columns : multiply_packed)(rows, n, k, left, b, to, Part::All, false);
  };
  const int64_t rows = runtime::rows_to_measure(m, n * k);
  FloatBuffer scratch;
  const size_t way =
      runtime::tuned_choice({"float32 product",
                             {runtime::size_class(rows), runtime::size_class(n), runtime::size_class(k),
                              a.column_stride == 1, b.column_stride == 1, wide}},
                            wide ? kOfWide : kOfNarrow, [&](size_t each) {
                              if (!scratch.data()) scratch = FloatBuffer(rows * n);
                              multiply(each, rows, scratch.data());
                            });
  multiply(way, m, c);
}

}  // namespace

void gemm_f32(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(c, m * n, 0.0f);
    return;
  }
  // A product with one column is one with a row, transposed.
  if (n == 1 && m > 1) return gemm_f32(1, m, k, transposed(b), transposed(a), c);
  // A matrix whose columns lie in memory, times a few columns: their product's transpose reads it as it lies.
  if (n <= kFewTileRows && m > kFewTileRows && a.row_stride == 1 && a.column_stride != 1 &&
      m * n * k > kSmallProducts) {
    const FloatBuffer turned(n * m);
    gemm_f32(n, m, k, transposed(b), transposed(a), turned.data());
    return gemm_kernels().transpose(n, m, turned.data(), m, c, n);
  }
  const RowMajor left(a, m, k);
  if (m <= kFewTileRows && b.row_stride == 1 && b.column_stride != 1) return by_dots(m, n, k, left, b, c);
  if (m <= 2 && rows_contiguous(b, n)) return by_rows(m, n, k, left, RowMajor(b, k, n), c);
  if (m <= kFewTileRows && rows_contiguous(b, n)) return in_place(m, n, k, left, RowMajor(b, k, n), c);
  if (m * n * k <= kSmallProducts) return multiply_small(m, n, k, left, b, c);
  const bool wide = n >= 16 * gemm_kernels().lanes;
  if (is_own_transpose(m, n, k, a, b)) {
    (wide ? multiply_by_columns : multiply_packed)(m, n, k, left, b, c, Part::Upper, false);
    return mirror_upper(n, c);
  }
  multiply_measured(m, n, k, left, a, b, c, wide);
}

void add_product_f32(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c) {
  if (m == 0 || n == 0 || k == 0) return;
  const RowMajor left(a, m, k);
  if (m * n * k <= kSmallProducts) return multiply_small(m, n, k, left, b, c, true);
  const bool wide = n >= 16 * gemm_kernels().lanes;
  (wide ? multiply_by_columns : multiply_packed)(m, n, k, left, b, c, Part::All, true);
}

}  // namespace weft::kernels
