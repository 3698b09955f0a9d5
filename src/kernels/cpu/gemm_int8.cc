#include "kernels/cpu/gemm_int8.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/rounding.h"
#include "kernels/cpu/packed_int8.h"
#include "kernels/cpu/scratch.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kGrainInt8Products = 1 << 18, kInt8GroupBytes = 512 << 10, kMostInt8Group = 16;
// Up to so many rows, columns that are contiguous are read where they lie; the same on tiles.
constexpr int64_t kInt8DotsRows = 32, kInt8DotsRowsOfTiles = 4;
// Up to so many, the same of rows that are contiguous: some of the depth is packed at a time.
constexpr int64_t kInt8CombinedRows = 24;

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

typedef uint8_t ByteBlock __attribute__((vector_size(32)));
typedef int8_t SignedBytes __attribute__((vector_size(8)));
typedef int32_t ByteSums __attribute__((vector_size(32)));

// `count` numbers, as bytes that exceed them by 128 where `turned` is that.
void copy_turned(const int8_t* from, int64_t count, uint8_t turned, int8_t* to) {
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    ByteBlock block;
    std::memcpy(&block, from + i, sizeof block);
    block ^= turned;
    std::memcpy(to + i, &block, sizeof block);
  }
  for (; i < count; ++i) to[i] = static_cast<int8_t>(static_cast<uint8_t>(from[i]) ^ turned);
}

int32_t sum_of(const int8_t* x, int64_t count) {
  ByteSums sums{};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    SignedBytes bytes;
    std::memcpy(&bytes, x + i, sizeof bytes);
    sums += __builtin_convertvector(bytes, ByteSums);
  }
  int32_t sum = 0;
  for (int lane = 0; lane < 8; ++lane) sum += sums[lane];
  for (; i < count; ++i) sum += x[i];
  return sum;
}

// On kernels that have packing of their own.
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
    if (!is_copied()) return;
    copy_stride_ = depth_ + (depth_ % 1024 == 0 ? 64 : 0);
    if (is_by_rows_) return;
    copy_ = FloatBuffer(ceil_div(m * copy_stride_, 4));
    auto* const to = reinterpret_cast<int8_t*>(copy_.data());
    parallel_for(0, m, std::max<int64_t>(1, (1 << 17) / copy_stride_), [&](int64_t begin, int64_t end) {
      copy_rows(begin, end - begin, to + begin * copy_stride_);
    });
    a_ = to, a_stride_ = copy_stride_;
  }

  void run() const {
    const int64_t most = std::clamp<int64_t>(kInt8GroupBytes / panel_size(), 1, kMostInt8Group);
    if (is_by_rows_) return by_rows_of_tiles(most);
    by_columns(std::clamp<int64_t>(panels_ / (4 * threads_), 1, most));
  }

 private:
  // Of panels whose sizes are multiples of a page the same numbers would share one place in the caches.
  int64_t panel_size() const {
    const int64_t bytes = kInt8Columns * std::max<int64_t>(depth_, kernels_.depth_unit);
    return bytes % 4096 == 0 ? bytes + 128 : bytes;
  }
  uint8_t turned() const { return kernels_.inputs == Int8Inputs::Exceeding ? 128 : 0; }
  // Rows a multiple of 1 KiB apart share few places in the first-level cache.
  bool is_copied() const {
    return depth_ != k_ || turned() != 0 || (a_stride_ % 1024 == 0 && tiles_ > 1 && panels_ > 4);
  }
  void copy_rows(int64_t first, int64_t rows, int8_t* to) const {
    for (int64_t i = 0; i < rows; ++i, to += copy_stride_) {
      copy_turned(a_ + (first + i) * a_stride_, k_, turned(), to);
      std::fill(to + k_, to + depth_, static_cast<int8_t>(turned()));
    }
  }
  int64_t row_of(int64_t tile) const { return tile * m_ / tiles_; }

  // starts: [panels * 32] or null, where sums start at zeros.
  void pack(int64_t panel, int64_t panels, int8_t* to, int32_t* starts) const {
    const int64_t column = panel * kInt8Columns;
    const PackInt8Args args{.b = b_.data + column * b_.column_stride,
                            .stride = b_.column_stride == 1 ? b_.row_stride : b_.column_stride,
                            .columns = std::min(panels * kInt8Columns, n_ - column),
                            .depth = k_,
                            .padded_depth = depth_,
                            .panels = to,
                            .panel_stride = panel_size()};
    (b_.column_stride == 1 ? kernels_.pack_rows : kernels_.pack_columns)(args);
    if (starts) kernels_.start_sums({to, panel_size(), panels, depth_, starts});
  }

  // sums: room for those of panels that c has not all columns of.
  void multiply(int64_t tile, const int8_t* a, int64_t a_stride, int64_t panel, int64_t panels,
                const int8_t* packed, const int32_t* starts, int32_t* sums) const {
    const int64_t row = row_of(tile), rows = row_of(tile + 1) - row, column = panel * kInt8Columns,
                  columns = std::min(panels * kInt8Columns, n_ - column);
    int32_t* const to = c_ + row * n_ + column;
    const int64_t whole = columns / kInt8Columns;
    Int8Tile args{.a = a,
                  .a_bytes = a_stride,
                  .rows = rows,
                  .panels = packed,
                  .panel_stride = panel_size(),
                  .num_panels = whole,
                  .depth = depth_,
                  .start = starts,
                  .sums = to,
                  .sums_stride = n_};
    if (whole > 0) kernels_.multiply(args);
    if (whole == panels) return;
    args.panels += whole * panel_size();
    if (starts) args.start = starts + whole * kInt8Columns;
    args.num_panels = 1, args.sums = sums, args.sums_stride = kInt8Columns;
    args.half = starts && columns - whole * kInt8Columns <= kInt8Columns / 2;
    kernels_.multiply(args);
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(sums + i * kInt8Columns, columns - whole * kInt8Columns,
                  to + i * n_ + whole * kInt8Columns);
  }

  // Many columns: every thread packs some panels and multiplies all rows with them.
  void by_columns(int64_t group) const {
    const int64_t sums_size = kernels_.max_rows * kInt8Columns, starts_size = group * kInt8Columns;
    parallel_for(0, ceil_div(panels_, group),
                 std::max<int64_t>(1, kGrainInt8Products / (m_ * (k_ + 1) * group * kInt8Columns)),
                 [&](int64_t begin, int64_t end) {
                   thread_local Scratch scratch;
                   float* const memory = scratch.floats(sums_size + starts_size + group * panel_size() / 4);
                   auto* const sums = reinterpret_cast<int32_t*>(memory);
                   int32_t* const starts = kernels_.start_sums ? sums + sums_size : nullptr;
                   auto* const packed = reinterpret_cast<int8_t*>(memory + sums_size + starts_size);
                   for (int64_t index = begin; index < end; ++index) {
                     const int64_t first = index * group, count = std::min(group, panels_ - first);
                     pack(first, count, packed, starts);
                     for (int64_t tile = 0; tile < tiles_; ++tile)
                       multiply(tile, a_ + row_of(tile) * a_stride_, a_stride_, first, count, packed, starts,
                                sums);
                   }
                 });
  }

  // Few columns: b is packed once, and the rows are divided among the threads.
  void by_rows_of_tiles(int64_t group) const {
    const FloatBuffer buffer(panels_ * (panel_size() / 4 + kInt8Columns));
    auto* const packed = reinterpret_cast<int8_t*>(buffer.data());
    auto* const starts = kernels_.start_sums
                             ? reinterpret_cast<int32_t*>(buffer.data() + panels_ * panel_size() / 4)
                             : nullptr;
    parallel_for(0, panels_, std::max<int64_t>(1, kGrainInt8Products / (2 * panel_size())),
                 [&](int64_t begin, int64_t end) {
                   pack(begin, end - begin, packed + begin * panel_size(),
                        starts ? starts + begin * kInt8Columns : nullptr);
                 });
    const int64_t products = std::max<int64_t>(1, kernels_.max_rows * n_ * k_);
    const int64_t sums_size = kernels_.max_rows * kInt8Columns;
    parallel_for(
        0, tiles_, std::max<int64_t>(1, kGrainInt8Products / products), [&](int64_t begin, int64_t end) {
          thread_local Scratch scratch;
          float* const memory = scratch.floats(sums_size + ceil_div(kernels_.max_rows * copy_stride_, 4));
          auto* const sums = reinterpret_cast<int32_t*>(memory);
          auto* const copy = reinterpret_cast<int8_t*>(memory + sums_size);
          for (int64_t first = 0; first < panels_; first += group)
            for (int64_t tile = begin; tile < end; ++tile) {
              const int64_t row = row_of(tile);
              if (is_copied()) copy_rows(row, row_of(tile + 1) - row, copy);
              multiply(tile, is_copied() ? copy : a_ + row * a_stride_,
                       is_copied() ? copy_stride_ : a_stride_, first, std::min(group, panels_ - first),
                       packed + first * panel_size(), starts ? starts + first * kInt8Columns : nullptr, sums);
            }
        });
  }

  const Int8Kernels& kernels_;
  const int64_t m_, n_, k_, depth_, panels_, tiles_;
  const int64_t threads_ = in_parallel_region() ? 1 : get_num_threads();
  // The rows are divided among the threads, and copied, where they are, tile by tile: few columns would not
  // make up for writing and reading all of them.
  const bool is_by_rows_ =
      (panels_ < 4 * threads_ || panels_ * panel_size() <= kInt8GroupBytes) && tiles_ > threads_;
  const int8_t* a_;
  int64_t a_stride_, copy_stride_ = 0;
  const MatrixView<int8_t> b_;
  int32_t* const c_;
  FloatBuffer copy_;
};

// Few rows and columns of b that are contiguous: it is read once, where it lies.
void int8_inner_products(const Int8Kernels& kernels, int64_t m, int64_t n, int64_t k, MatrixView<int8_t> a,
                         MatrixView<int8_t> b, int32_t* c) {
  constexpr int64_t kColumns = 8;
  std::vector<int32_t> starts(static_cast<size_t>(m));
  for (int64_t i = 0; i < m; ++i) {
    const auto sum = static_cast<uint32_t>(sum_of(a.data + i * a.row_stride, k));
    starts[static_cast<size_t>(i)] = static_cast<int32_t>(sum * uint32_t{0xffffff80});
  }
  parallel_for(0, ceil_div(n, kColumns), std::max<int64_t>(1, kGrainInt8Products / (kColumns * k * m)),
               [&](int64_t begin, int64_t end) {
                 const int64_t first = begin * kColumns;
                 kernels.dots({.a = a.data,
                               .a_stride = a.row_stride,
                               .rows = m,
                               .columns = std::min(n, end * kColumns) - first,
                               .depth = k,
                               .b = b.data + first * b.column_stride,
                               .b_stride = b.column_stride,
                               .starts = starts.data(),
                               .sums = c + first,
                               .sums_stride = n});
               });
}

// Few rows and rows of b that are contiguous, on kernels that go on from sums: long stretches of b's rows are
// read, and packed for a part of the depth that stays in the second-level cache.
void int8_combinations(const Int8Kernels& kernels, int64_t m, int64_t n, int64_t k, MatrixView<int8_t> a,
                       MatrixView<int8_t> b, int32_t* c) {
  constexpr int64_t kDepth = 256, kWidth = 1024;
  const int64_t threads = in_parallel_region() ? 1 : get_num_threads(), unit = kernels.depth_unit,
                width = std::clamp<int64_t>(round_up(ceil_div(n, 2 * threads), kInt8Columns), kInt8Columns,
                                            kWidth),
                panels = width / kInt8Columns, depth = std::min(kDepth, round_up(k, unit)),
                panel_size = kInt8Columns * depth + 128, left_stride = round_up(k, unit);
  const FloatBuffer left(ceil_div(m * left_stride, 4));
  auto* const turned = reinterpret_cast<int8_t*>(left.data());
  for (int64_t i = 0; i < m; ++i) {
    copy_turned(a.data + i * a.row_stride, k, 128, turned + i * left_stride);
    std::fill(turned + i * left_stride + k, turned + (i + 1) * left_stride, static_cast<int8_t>(-128));
  }
  parallel_for(0, ceil_div(n, width), std::max<int64_t>(1, kGrainInt8Products / (width * k * m)),
               [&](int64_t begin, int64_t end) {
                 thread_local Scratch scratch;
                 auto* const sums =
                     reinterpret_cast<int32_t*>(scratch.floats((m + 1) * width + panels * panel_size / 4));
                 int32_t* const starts = sums + m * width;
                 auto* const packed = reinterpret_cast<int8_t*>(starts + width);
                 for (int64_t chunk = begin; chunk < end; ++chunk) {
                   const int64_t first = chunk * width, columns = std::min(width, n - first),
                                 count = ceil_div(columns, kInt8Columns);
                   for (int64_t at = 0; at < k; at += depth) {
                     const int64_t numbers = std::min(depth, k - at), padded = round_up(numbers, unit);
                     kernels.pack_rows({.b = b.data + at * b.row_stride + first,
                                        .stride = b.row_stride,
                                        .columns = columns,
                                        .depth = numbers,
                                        .padded_depth = padded,
                                        .panels = packed,
                                        .panel_stride = panel_size});
                     kernels.start_sums({packed, panel_size, count, padded, starts});
                     for (int64_t row = 0; row < m; row += kernels.max_rows)
                       kernels.multiply({.a = turned + row * left_stride + at,
                                         .a_bytes = left_stride,
                                         .rows = std::min(kernels.max_rows, m - row),
                                         .panels = packed,
                                         .panel_stride = panel_size,
                                         .num_panels = count,
                                         .depth = padded,
                                         .start = starts,
                                         .sums = sums + row * width,
                                         .sums_stride = width,
                                         .before = at > 0 ? sums + row * width : nullptr});
                   }
                   for (int64_t i = 0; i < m; ++i) std::copy_n(sums + i * width, columns, c + i * n + first);
                 }
               });
}

}  // namespace

void gemm_int8(const Int8Kernels& kernels, int64_t m, int64_t n, int64_t k, MatrixView<int8_t> a,
               MatrixView<int8_t> b, int32_t* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) return void(std::fill_n(c, m * n, 0));
  std::vector<int8_t> left, right;
  if (a.column_stride != 1 && k > 1) left = by_rows(m, k, a), a = {left.data(), k, 1};
  if (kernels.dots && b.row_stride == 1 &&
      m <= (kernels.inputs == Int8Inputs::Signed ? kInt8DotsRowsOfTiles : kInt8DotsRows))
    return int8_inner_products(kernels, m, n, k, a, b, c);
  if (kernels.start_sums && b.column_stride == 1 && m <= kInt8CombinedRows && n > 1)
    return int8_combinations(kernels, m, n, k, a, b, c);
  if (kernels.pack_rows && kernels.pack_columns) {
    if (b.column_stride != 1 && b.row_stride != 1) right = by_rows(k, n, b), b = {right.data(), n, 1};
    return Int8Product(kernels, m, n, k, a, b, c).run();
  }
  if (a.row_stride != k && m > 1) left = by_rows(m, k, a), a = {left.data(), k, 1};
  const bool packs_in_place = b.row_stride == 1 && (b.column_stride == k || n == 1);
  if (!packs_in_place) right = by_rows(n, k, {b.data, b.column_stride, b.row_stride});
  PackedInt8(kernels, n, k, packs_in_place ? b.data : right.data(), nullptr, nullptr).run(a.data, m, c);
}

}  // namespace weft::kernels
