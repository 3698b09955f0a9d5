#include "kernels/cpu/gemm_int8.h"

#include <algorithm>
#include <vector>

#include "core/rounding.h"
#include "kernels/cpu/packed_int8.h"
#include "kernels/cpu/scratch.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kGrainInt8Products = 1 << 18, kInt8GroupBytes = 512 << 10, kMostInt8Group = 16;

// A matrix in memory of its own, rows contiguous.
std::vector<int8_t> by_rows(int64_t rows, int64_t columns, MatrixView<int8_t> x) {
  constexpr int64_t kBlock = 64;  // what is read of a line is used up at once, whichever way it lies
  std::vector<int8_t> copy(static_cast<size_t>(rows * columns));
  parallel_for(0, ceil_div(rows, kBlock), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i0 = begin * kBlock; i0 < std::min(rows, end * kBlock); i0 += kBlock)
      for (int64_t j0 = 0; j0 < columns; j0 += kBlock)
        for (int64_t i = i0; i < std::min(rows, i0 + kBlock); ++i)
          for (int64_t j = j0; j < std::min(columns, j0 + kBlock); ++j)
            copy[static_cast<size_t>(i * columns + j)] = x.data[i * x.row_stride + j * x.column_stride];
  });
  return copy;
}

// On kernels that take numbers as they are and have packing of their own.
class Int8Product {
 public:
  Int8Product(const Int8Kernels& kernels, int64_t m, int64_t n, int64_t k, MatrixView<int8_t> a,
              MatrixView<int8_t> b, int32_t* c)
      : kernels_(kernels),
        m_(m),
        n_(n),
        k_(k),
        depth_(round_up(k, kernels.depth_unit)),
        panels_(ceil_div(n, kInt8Columns)),
        tiles_(ceil_div(m, kernels.max_rows)),
        a_(a.data),
        a_stride_(a.row_stride),
        b_(b),
        c_(c) {
    // Rows a multiple of 1 KiB apart share few places in the first-level cache.
    const bool crowded = a.row_stride % 1024 == 0 && tiles_ > 1 && panels_ > 4;
    if (depth_ == k && !crowded) return;
    a_stride_ = depth_ + (depth_ % 1024 == 0 ? 64 : 0);
    copy_ = FloatBuffer(ceil_div(m * a_stride_, 4));
    auto* const to = reinterpret_cast<int8_t*>(copy_.data());
    for (int64_t i = 0; i < m; ++i) {
      std::copy_n(a.data + i * a.row_stride, k, to + i * a_stride_);
      std::fill(to + i * a_stride_ + k, to + i * a_stride_ + depth_, int8_t{0});
    }
    a_ = to;
  }

  void run() const {
    const int64_t threads = in_parallel_region() ? 1 : get_num_threads();
    const int64_t most = std::clamp<int64_t>(kInt8GroupBytes / panel_size(), 1, kMostInt8Group);
    if (panels_ >= 4 * threads || tiles_ <= threads) {
      const int64_t group = std::clamp<int64_t>(panels_ / (4 * threads), 1, most);
      return by_columns(group);
    }
    by_rows_of_tiles(most);
  }

 private:
  int64_t panel_size() const { return kInt8Columns * std::max<int64_t>(depth_, kernels_.depth_unit); }
  int64_t row_of(int64_t tile) const { return tile * m_ / tiles_; }

  void pack(int64_t panel, int64_t panels, int8_t* to) const {
    const int64_t column = panel * kInt8Columns;
    const PackInt8Args args{.b = b_.data + column * b_.column_stride,
                            .stride = b_.column_stride == 1 ? b_.row_stride : b_.column_stride,
                            .columns = std::min(panels * kInt8Columns, n_ - column),
                            .depth = k_,
                            .padded_depth = depth_,
                            .panels = to,
                            .panel_stride = panel_size()};
    (b_.column_stride == 1 ? kernels_.pack_rows : kernels_.pack_columns)(args);
  }

  // sums: room for those of panels that c has not all columns of.
  void multiply(int64_t tile, int64_t panel, int64_t panels, const int8_t* packed, int32_t* sums) const {
    const int64_t row = row_of(tile), rows = row_of(tile + 1) - row, column = panel * kInt8Columns,
                  columns = std::min(panels * kInt8Columns, n_ - column);
    int32_t* const to = c_ + row * n_ + column;
    const int64_t whole = columns / kInt8Columns;
    Int8Tile args{.a = a_ + row * a_stride_,
                  .a_bytes = a_stride_,
                  .rows = rows,
                  .panels = packed,
                  .panel_stride = panel_size(),
                  .num_panels = whole,
                  .depth = depth_,
                  .start = nullptr,
                  .sums = to,
                  .sums_stride = n_};
    if (whole > 0) kernels_.multiply(args);
    if (whole == panels) return;
    args.panels += whole * panel_size();
    args.num_panels = 1, args.sums = sums, args.sums_stride = kInt8Columns;
    kernels_.multiply(args);
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(sums + i * kInt8Columns, columns - whole * kInt8Columns,
                  to + i * n_ + whole * kInt8Columns);
  }

  // Many columns: every thread packs some panels and multiplies all rows with them.
  void by_columns(int64_t group) const {
    const int64_t sums_size = kernels_.max_rows * kInt8Columns;
    parallel_for(0, ceil_div(panels_, group),
                 std::max<int64_t>(1, kGrainInt8Products / (m_ * (k_ + 1) * group * kInt8Columns)),
                 [&](int64_t begin, int64_t end) {
                   thread_local Scratch scratch;
                   float* const memory = scratch.floats(sums_size + group * panel_size() / 4);
                   auto* const packed = reinterpret_cast<int8_t*>(memory + sums_size);
                   for (int64_t index = begin; index < end; ++index) {
                     const int64_t first = index * group, count = std::min(group, panels_ - first);
                     pack(first, count, packed);
                     for (int64_t tile = 0; tile < tiles_; ++tile)
                       multiply(tile, first, count, packed, reinterpret_cast<int32_t*>(memory));
                   }
                 });
  }

  // Few columns: b is packed once, and the rows are divided among the threads.
  void by_rows_of_tiles(int64_t group) const {
    const FloatBuffer buffer(panels_ * panel_size() / 4);
    auto* const packed = reinterpret_cast<int8_t*>(buffer.data());
    pack(0, panels_, packed);
    const int64_t products = std::max<int64_t>(1, kernels_.max_rows * n_ * k_);
    parallel_for(
        0, tiles_, std::max<int64_t>(1, kGrainInt8Products / products), [&](int64_t begin, int64_t end) {
          thread_local Scratch scratch;
          auto* const sums = reinterpret_cast<int32_t*>(scratch.floats(kernels_.max_rows * kInt8Columns));
          for (int64_t first = 0; first < panels_; first += group)
            for (int64_t tile = begin; tile < end; ++tile)
              multiply(tile, first, std::min(group, panels_ - first), packed + first * panel_size(), sums);
        });
  }

  const Int8Kernels& kernels_;
  const int64_t m_, n_, k_, depth_, panels_, tiles_;
  const int8_t* a_;
  int64_t a_stride_;
  const MatrixView<int8_t> b_;
  int32_t* const c_;
  FloatBuffer copy_;
};

}  // namespace

void gemm_int8(const Int8Kernels& kernels, int64_t m, int64_t n, int64_t k, MatrixView<int8_t> a,
               MatrixView<int8_t> b, int32_t* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) return void(std::fill_n(c, m * n, 0));
  std::vector<int8_t> left, right;
  if (a.column_stride != 1 && k > 1) left = by_rows(m, k, a), a = {left.data(), k, 1};
  if (kernels.inputs == Int8Inputs::Signed && kernels.pack_rows && kernels.pack_columns) {
    if (b.column_stride != 1 && b.row_stride != 1) right = by_rows(k, n, b), b = {right.data(), n, 1};
    return Int8Product(kernels, m, n, k, a, b, c).run();
  }
  if (a.row_stride != k && m > 1) left = by_rows(m, k, a), a = {left.data(), k, 1};
  const bool packs_in_place = b.row_stride == 1 && (b.column_stride == k || n == 1);
  if (!packs_in_place) right = by_rows(n, k, {b.data, b.column_stride, b.row_stride});
  PackedInt8(kernels, n, k, packs_in_place ? b.data : right.data(), nullptr, nullptr).run(a.data, m, c);
}

}  // namespace weft::kernels
