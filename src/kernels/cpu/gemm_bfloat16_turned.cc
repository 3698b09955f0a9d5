#include "kernels/cpu/gemm_bfloat16_turned.h"

#include <algorithm>

#include "core/rounding.h"
#include "kernels/cpu/gemm_bfloat16.h"
#include "kernels/cpu/product_scope.h"
#include "kernels/cpu/scratch.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kMostRows = 32, kTileDepth = 32;  // finish_turned takes so many rows
constexpr int64_t kDepthAtOnce = 512;  // of so many rows of b: they stay in the first-level cache
constexpr int64_t kTurnedGrain = 1 << 17;

class TurnedProduct {
 public:
  TurnedProduct(const BFloat16Kernels& kernels, int64_t m, int64_t n, int64_t k, BitsView b,
                const float* start, uint16_t* c)
      : kernels_(kernels),
        m_(m),
        n_(n),
        k_(k),
        b_(b),
        start_(start),
        c_(c),
        panels_(ceil_div(m, kPairColumns)),
        depth_(round_up(k, kTileDepth)),
        rows_at_once_(kMostRows / kernels.max_rows * kernels.max_rows),
        packed_(panels_ * kPairColumns * depth_ / 2 + 1) {}

  void run(BitsView a) {
    const auto packed = reinterpret_cast<uint16_t*>(packed_.data());
    parallel_for(0, panels_, std::max<int64_t>(1, (1 << 15) / (kPairColumns * depth_)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t panel = begin; panel < end; ++panel) pack(a, panel, packed);
                 });
    const int64_t tiles = ceil_div(n_, rows_at_once_);
    parallel_for(0, tiles, std::max<int64_t>(1, kTurnedGrain / (rows_at_once_ * m_ * k_)),
                 [&](int64_t begin, int64_t end) {
                   const ProductScope scope(kernels_);
                   thread_local Scratch scratch;
                   float* const sums = scratch.floats(kMostRows * (width() + kTileDepth / 2));
                   for (int64_t tile = begin; tile < end; ++tile)
                     multiply_rows(tile * rows_at_once_, packed, sums);
                 });
  }

 private:
  int64_t width() const { return panels_ * kPairColumns; }

  void pack(BitsView a, int64_t panel, uint16_t* packed) const {
    const int64_t first = panel * kPairColumns;
    const PackPanelsArgs args{.b = a.data + first * a.row_stride,
                              .stride = a.column_stride == 1 ? a.row_stride : a.column_stride,
                              .columns = std::min(kPairColumns, m_ - first),
                              .depth = k_,
                              .padded_depth = depth_,
                              .panels = packed + first * depth_,
                              .panel_stride = 0};
    if (a.column_stride == 1)
      kernels_.pack_columns(args);
    else if (a.row_stride == 1)
      kernels_.pack_rows(args);
    else
      pack_panels_plainly(args, a.row_stride);
  }

  // Of `rows` rows from `from` on, `depth` numbers from `k` on.
  void add(const uint16_t* from, int64_t stride, int64_t rows, int64_t k, int64_t depth,
           const uint16_t* packed, float* sums) const {
    for (int64_t row = 0; row < rows; row += kernels_.max_rows) {
      float* const to = sums + row * width();
      kernels_.multiply({.a = from + row * stride,
                         .a_stride = stride,
                         .rows = std::min(kernels_.max_rows, rows - row),
                         .panels = packed + k * kPairColumns,
                         .panel_stride = depth_ * kPairColumns,
                         .num_panels = panels_,
                         .depth = depth,
                         .start = nullptr,
                         .before = k > 0 ? to : nullptr,
                         .sums = to,
                         .sums_stride = width(),
                         .sums_step = kPairColumns,
                         .y = nullptr,
                         .y_stride = 0,
                         .columns = m_});
    }
  }

  // What is read next comes into the second-level cache meanwhile: hardware does not follow so many rows.
  static void fetch(const uint16_t* from, int64_t stride, int64_t rows, int64_t depth) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < depth; k += 32) __builtin_prefetch(from + i * stride + k, 0, 2);
  }

  void multiply_rows(int64_t first, const uint16_t* packed, float* sums) const {
    const int64_t rows = std::min(rows_at_once_, n_ - first), stride = b_.column_stride,
                  whole = k_ / kTileDepth * kTileDepth;
    const uint16_t* const from = b_.data + first * stride;
    for (int64_t k = 0; k < whole; k += kDepthAtOnce) {
      const int64_t next = k + kDepthAtOnce;
      if (next < k_)
        fetch(from + next, stride, rows, std::min(kDepthAtOnce, k_ - next));
      else if (first + rows_at_once_ < n_)
        fetch(from + rows_at_once_ * stride, stride, std::min(rows_at_once_, n_ - first - rows_at_once_),
              std::min(kDepthAtOnce, k_));
      add(from + k, stride, rows, k, std::min(kDepthAtOnce, whole - k), packed, sums);
    }
    if (whole < k_) {
      auto* const rest = reinterpret_cast<uint16_t*>(sums + kMostRows * width());
      std::fill_n(rest, kMostRows * kTileDepth, uint16_t{0});
      for (int64_t i = 0; i < rows; ++i)
        std::copy_n(from + i * stride + whole, k_ - whole, rest + i * kTileDepth);
      add(rest, kTileDepth, rows, whole, kTileDepth, packed, sums);
    }
    kernels_.finish_turned({.sums = sums,
                            .sums_stride = width(),
                            .rows = rows,
                            .columns = m_,
                            .start = start_ ? start_ + first : nullptr,
                            .y = c_ + first,
                            .y_stride = n_});
  }

  const BFloat16Kernels& kernels_;
  const int64_t m_, n_, k_;
  const BitsView b_;
  const float* const start_;
  uint16_t* const c_;
  const int64_t panels_, depth_, rows_at_once_;
  const FloatBuffer packed_;
};

}  // namespace

void turned_product(const BFloat16Kernels& kernels, int64_t m, int64_t n, int64_t k, BitsView a, BitsView b,
                    const float* start, uint16_t* c) {
  TurnedProduct(kernels, m, n, k, b, start, c).run(a);
}

}  // namespace weft::kernels
