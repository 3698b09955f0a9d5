#include "kernels/cpu/gemm_bfloat16.h"

#include <algorithm>
#include <vector>

#include "core/rounding.h"
#include "kernels/cpu/gemm_bfloat16_turned.h"
#include "kernels/cpu/product_scope.h"
#include "kernels/cpu/scratch.h"
#include "runtime/autotune.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

static_assert(sizeof(BFloat16) == sizeof(uint16_t));
constexpr int64_t kGrainBFloat16 = 1 << 17;
constexpr int64_t kMostDepth = 3072;  // of panels; sums over more are kept in memory between the parts
// Up to so many rows, packing b costs more than it gives: where its columns are contiguous, where its rows
// are.
constexpr int64_t kDotsRows = 32, kCombinedRows = 16;
// Up to so many, weights in rows are read where they lie, as the left operand of the transpose.
constexpr int64_t kTurnedRows = 96;
// The same on tiles.
constexpr int64_t kDotsRowsOfTiles = 4, kCombinedRowsOfTiles = 6;

// The left operand with contiguous rows of `depth` numbers: itself, or a copy filled up with zeros.
class LeftRows {
 public:
  // `reused`: every row is read several times.
  LeftRows(BitsView a, int64_t rows, int64_t k, int64_t depth, bool reused)
      : data(a.data), stride(a.row_stride) {
    // Rows a multiple of 4 KiB apart share their lines' places in the first-level cache.
    constexpr int64_t kSamePlace = 2048;
    const bool crowded = reused && rows > 8 && a.row_stride % kSamePlace == 0;
    if ((a.column_stride == 1 || k == 1) && depth == k && !crowded) return;
    stride = depth % kSamePlace == 0 ? depth + 32 : depth;
    copy_ = FloatBuffer(ceil_div(rows * stride, 2));
    auto* const to = reinterpret_cast<uint16_t*>(copy_.data());
    data = to;
    parallel_for(0, rows, std::max<int64_t>(1, (1 << 16) / depth), [&](int64_t begin, int64_t end) {
      if (a.row_stride == 1 && a.column_stride != 1) return turn(a, begin, end, k, depth, to);
      for (int64_t i = begin; i < end; ++i) {
        const uint16_t* const from = a.data + i * a.row_stride;
        uint16_t* const row = to + i * stride;
        if (a.column_stride == 1)
          std::copy_n(from, k, row);
        else
          for (int64_t p = 0; p < k; ++p) row[p] = from[p * a.column_stride];
        std::fill(row + k, row + depth, uint16_t{0});
      }
    });
  }
  const uint16_t* data;
  int64_t stride;

 private:
  // Columns are contiguous: in blocks, so that the lines that are read are used up at once.
  void turn(BitsView a, int64_t begin, int64_t end, int64_t k, int64_t depth, uint16_t* to) const {
    constexpr int64_t kBlock = 32;
    for (int64_t i0 = begin; i0 < end; i0 += kBlock) {
      const int64_t i1 = std::min(end, i0 + kBlock);
      for (int64_t p = 0; p < k; ++p)
        for (int64_t i = i0; i < i1; ++i) to[i * stride + p] = a.data[i + p * a.column_stride];
      for (int64_t i = i0; i < i1; ++i) std::fill(to + i * stride + k, to + i * stride + depth, uint16_t{0});
    }
  }

  FloatBuffer copy_;
};

class Product {
 public:
  Product(const BFloat16Kernels& kernels, int64_t m, int64_t n, int64_t k, BitsView a, BitsView b,
          const float* start, uint16_t* c)
      : kernels_(kernels),
        m_(m),
        n_(n),
        k_(k),
        b_(b),
        start_(start),
        c_(c),
        panels_(ceil_div(n, kPairColumns)),
        depth_(round_up(k, kernels.depth_unit)),
        step_(round_up(ceil_div(depth_, ceil_div(depth_, kMostDepth)), 32)),
        parts_(ceil_div(depth_, step_)),
        tiles_(ceil_div(m, kernels.max_rows)),
        left_(a, m, k, kernels.takes_odd_depth ? k : depth_, panels_ > 4) {}

  static bool is_by_rows(const BFloat16Kernels& kernels, int64_t m, int64_t n) {
    return ceil_div(n, kPairColumns) <= kFewPanels && m > 2 * kernels.max_rows;
  }
  void run(bool by_rows) const { by_rows ? this->by_rows() : by_columns(); }

 private:
  static constexpr int64_t kFewPanels = 8, kGroupBytes = 512 << 10, kMostPanels = 8;

  int64_t panel_size() const { return kPairColumns * std::min(step_, depth_); }
  // Panels that are taken at once: the second-level cache holds them.
  int64_t most_panels() const {
    return std::clamp<int64_t>(kGroupBytes / (2 * panel_size()), 1, kMostPanels);
  }
  int64_t tile_begin(int64_t tile) const { return tile * m_ / tiles_; }

  // Some panels' part of the depth.
  void pack(int64_t panel, int64_t panels, int64_t part, uint16_t* to) const {
    const int64_t first = part * step_, padded = std::min(step_, depth_ - first),
                  depth = std::clamp<int64_t>(k_ - first, 0, padded), column = panel * kPairColumns,
                  columns = std::min(panels * kPairColumns, n_ - column);
    const uint16_t* const from = b_.data + first * b_.row_stride + column * b_.column_stride;
    if (b_.column_stride == 1)
      kernels_.pack_rows({from, b_.row_stride, columns, depth, padded, to, panel_size()});
    else if (b_.row_stride == 1)
      kernels_.pack_columns({from, b_.column_stride, columns, depth, padded, to, panel_size()});
    else
      pack_panels_plainly({from, b_.row_stride, columns, depth, padded, to, panel_size()}, b_.column_stride);
  }

  // One tile of rows and the panels of one group, a part of the depth.
  void multiply(int64_t tile, int64_t first_panel, int64_t panels, int64_t part, const uint16_t* packed,
                int64_t panel_stride, float* sums) const {
    const int64_t row = tile_begin(tile), first = part * step_;
    const bool last = part + 1 == parts_;
    kernels_.multiply({.a = left_.data + row * left_.stride + first,
                       .a_stride = left_.stride,
                       .rows = tile_begin(tile + 1) - row,
                       .panels = packed,
                       .panel_stride = panel_stride,
                       .num_panels = panels,
                       .depth = std::min(step_, (kernels_.takes_odd_depth ? k_ : depth_) - first),
                       .start = last && start_ ? start_ + first_panel * kPairColumns : nullptr,
                       .before = part > 0 ? sums : nullptr,
                       .sums = sums,
                       .sums_stride = panels * kPairColumns,
                       .sums_step = kPairColumns,
                       .y = last ? c_ + row * n_ + first_panel * kPairColumns : nullptr,
                       .y_stride = n_,
                       .columns = n_ - first_panel * kPairColumns});
  }

  // Many columns: every thread packs some panels and multiplies all rows with them.
  void by_columns() const {
    const int64_t size = panel_size(), group = std::min(most_panels(), std::max<int64_t>(1, panels_ / 8));
    // Rows whose sums are kept between parts of the depth.
    const int64_t tiles_at_once = parts_ > 1 ? std::max<int64_t>(1, 1024 / kernels_.max_rows) : tiles_;
    const int64_t sums_of_tile = kernels_.max_rows * group * kPairColumns;
    parallel_for(0, ceil_div(panels_, group),
                 std::max<int64_t>(1, kGrainBFloat16 / (m_ * k_ * group * kPairColumns)),
                 [&](int64_t begin, int64_t end) {
                   const ProductScope scope(kernels_);
                   thread_local Scratch scratch;
                   float* const sums =
                       scratch.floats(group * size / 2 + (parts_ > 1 ? tiles_at_once * sums_of_tile : 0) + 1);
                   auto* const packed =
                       reinterpret_cast<uint16_t*>(sums + (parts_ > 1 ? tiles_at_once * sums_of_tile : 0));
                   for (int64_t index = begin; index < end; ++index) {
                     const int64_t first = index * group, count = std::min(group, panels_ - first);
                     for (int64_t tile0 = 0; tile0 < tiles_; tile0 += tiles_at_once) {
                       const int64_t tile1 = std::min(tiles_, tile0 + tiles_at_once);
                       for (int64_t part = 0; part < parts_; ++part) {
                         pack(first, count, part, packed);
                         for (int64_t tile = tile0; tile < tile1; ++tile)
                           multiply(tile, first, count, part, packed, size,
                                    sums + (parts_ > 1 ? (tile - tile0) * sums_of_tile : 0));
                       }
                     }
                   }
                 });
  }

  // Few columns: b is packed once, and the rows are divided among the threads.
  void by_rows() const {
    const int64_t size = panel_size(), group = most_panels(), all = panels_ * parts_;
    const FloatBuffer buffer(all * size / 2 + 1);
    auto* const packed = reinterpret_cast<uint16_t*>(buffer.data());
    parallel_for(0, all, std::max<int64_t>(1, kGrainBFloat16 / (8 * size)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) pack(i % panels_, 1, i / panels_, packed + i * size);
    });
    const int64_t products = std::max<int64_t>(1, kernels_.max_rows * n_ * k_);
    parallel_for(0, tiles_, std::max<int64_t>(1, kGrainBFloat16 / products), [&](int64_t begin, int64_t end) {
      const ProductScope scope(kernels_);
      thread_local Scratch scratch;
      float* const sums = scratch.floats(kernels_.max_rows * group * kPairColumns);
      for (int64_t first = 0; first < panels_; first += group) {
        const int64_t count = std::min(group, panels_ - first);
        for (int64_t tile = begin; tile < end; ++tile) {
          for (int64_t part = 0; part < parts_; ++part)
            multiply(tile, first, count, part, packed + (part * panels_ + first) * size, size, sums);
        }
      }
    });
  }

  const BFloat16Kernels& kernels_;
  const int64_t m_, n_, k_;
  const BitsView b_;
  const float* const start_;
  uint16_t* const c_;
  const int64_t panels_, depth_, step_, parts_, tiles_;
  const LeftRows left_;
};

// Few rows and columns of b that are contiguous: it is read once, where it lies.
void inner_products(const BFloat16Kernels& kernels, int64_t m, int64_t n, int64_t k, BitsView a, BitsView b,
                    const float* start, uint16_t* c) {
  constexpr int64_t kColumns = 8;
  const LeftRows left(a, m, k, k, false);
  parallel_for(0, ceil_div(n, kColumns), std::max<int64_t>(1, kGrainBFloat16 / (kColumns * k * m)),
               [&](int64_t begin, int64_t end) {
                 const int64_t first = begin * kColumns;
                 kernels.dots({.a = left.data,
                               .a_stride = left.stride,
                               .rows = m,
                               .columns = std::min(n, end * kColumns) - first,
                               .depth = k,
                               .b = b.data + first * b.column_stride,
                               .b_stride = b.column_stride,
                               .start = start ? start + first : nullptr,
                               .y = c + first,
                               .y_stride = n});
               });
}

// Few rows and rows of b that are contiguous: it is read once, where it lies.
void combine_rows(const BFloat16Kernels& kernels, int64_t m, int64_t n, int64_t k, BitsView a, BitsView b,
                  const float* start, uint16_t* c) {
  const LeftRows left(a, m, k, k, false);
  // Long stretches of b's rows keep what is read ahead useful; the sums do not depend on their length.
  const int64_t threads = in_parallel_region() ? 1 : get_num_threads();
  const int64_t width = std::clamp<int64_t>(round_up(ceil_div(n, 2 * threads), kPairColumns), 256, 1024);
  parallel_for(0, ceil_div(n, width), std::max<int64_t>(1, kGrainBFloat16 / (width * k * m)),
               [&](int64_t begin, int64_t end) {
                 thread_local Scratch scratch;
                 for (int64_t chunk = begin; chunk < end; ++chunk) {
                   const int64_t first = chunk * width, columns = std::min(width, n - first),
                                 stride = round_up(columns, kPairColumns);
                   kernels.combine({.a = left.data,
                                    .a_stride = left.stride,
                                    .rows = m,
                                    .columns = columns,
                                    .depth = k,
                                    .b = b.data + first,
                                    .b_stride = b.row_stride,
                                    .start = start ? start + first : nullptr,
                                    .sums = scratch.floats(m * stride),
                                    .sums_stride = stride,
                                    .y = c + first,
                                    .y_stride = n});
                 }
               });
}

enum Way : uint8_t { kColumnsByThread, kColumnsFirst, kTurnedWay };
constexpr const char* kWays[] = {"columns packed by each thread", "all columns packed first",
                                 "weights where they lie, rows packed"};

// Of a product, the default one first.
struct Ways {
  Way ways[3];
  const char* names[3];
  size_t count = 0;

  void add(Way way) { ways[count] = way, names[count++] = kWays[way]; }
};

// By what is measured to be the fastest way where that is asked for.
void multiply_panels(const BFloat16Kernels& kernels, int64_t m, int64_t n, int64_t k, BitsView a, BitsView b,
                     const float* start, uint16_t* c) {
  constexpr int64_t kLeast = 1 << 20;  // products: others take no time worth a choice
  // Packing the smaller operand, and turning c, take less than packing the larger; without tiles, which take
  // many rows of weights at once, for few rows only.
  const bool by_rows = Product::is_by_rows(kernels, m, n),
             can_turn = b.row_stride == 1 && (kernels.has_tiles || m <= kTurnedRows),
             turns = can_turn && m * k + 2 * m * n < n * k;
  const int64_t rows = runtime::rows_to_measure(m, n * k);
  Ways ways;
  if (turns) ways.add(kTurnedWay);
  ways.add(by_rows ? kColumnsFirst : kColumnsByThread);
  ways.add(by_rows ? kColumnsByThread : kColumnsFirst);
  // Some of the rows would not tell: all of them are packed, and read again for every tile of weights.
  if (can_turn && !turns && rows == m) ways.add(kTurnedWay);
  const auto run = [&](Way way, int64_t count, uint16_t* to) {
    if (way == kTurnedWay) return turned_product(kernels, count, n, k, a, b, start, to);
    Product(kernels, count, n, k, a, b, start, to).run(way == kColumnsFirst);
  };
  size_t chosen = 0;
  if (runtime::is_autotuning() && rows * n * k >= kLeast) {
    FloatBuffer scratch;
    chosen =
        runtime::tuned_choice({"bfloat16 product",
                               {runtime::size_class(rows), runtime::size_class(n), runtime::size_class(k),
                                a.column_stride == 1, b.column_stride == 1, by_rows, kernels.max_rows,
                                turns ? 2 : static_cast<int64_t>(ways.count == 3)}},
                              {ways.names, ways.count}, [&](size_t each) {
                                if (!scratch.data()) scratch = FloatBuffer((rows * n + 1) / 2);
                                run(ways.ways[each], rows, reinterpret_cast<uint16_t*>(scratch.data()));
                              });
  }
  run(ways.ways[chosen], m, c);
}

}  // namespace

void pack_panels_plainly(const PackPanelsArgs& args, int64_t column_stride) {
  for (int64_t first = 0; first < args.columns; first += kPairColumns) {
    const int64_t columns = std::min(kPairColumns, args.columns - first);
    const uint16_t* const b = args.b + first * column_stride;
    uint16_t* const panel = args.panels + first / kPairColumns * args.panel_stride;
    std::fill_n(panel, args.padded_depth * kPairColumns, uint16_t{0});
    for (int64_t k = 0; k < args.depth; ++k)
      for (int64_t j = 0; j < columns; ++j)
        panel[(k / 2 * kPairColumns + j) * 2 + k % 2] = b[k * args.stride + j * column_stride];
  }
}

void gemm_bfloat16(const BFloat16Kernels& kernels, int64_t m, int64_t n, int64_t k, MatrixView<BFloat16> a,
                   MatrixView<BFloat16> b, const BFloat16* bias, BFloat16* c) {
  if (m == 0 || n == 0) return;
  // A product with one column is one with a row, transposed.
  if (n == 1 && m > 1 && !bias && k > 0)
    return gemm_bfloat16(kernels, 1, m, k, {b.data, b.column_stride, b.row_stride},
                         {a.data, a.column_stride, a.row_stride}, nullptr, c);
  if (k == 0) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) c[i * n + j] = bias ? bias[j] : BFloat16(0.0f);
    return;
  }
  std::vector<float> start;
  if (bias) {
    start.resize(static_cast<size_t>(round_up(n, kPairColumns)));
    for (int64_t j = 0; j < n; ++j) start[static_cast<size_t>(j)] = static_cast<float>(bias[j]);
  }
  const float* const added = bias ? start.data() : nullptr;
  const BitsView left{bits(a.data), a.row_stride, a.column_stride},
      right{bits(b.data), b.row_stride, b.column_stride};
  auto* const to = reinterpret_cast<uint16_t*>(c);
  const int64_t dots = kernels.has_tiles ? kDotsRowsOfTiles : kDotsRows,
                combined = kernels.has_tiles ? kCombinedRowsOfTiles : kCombinedRows;
  if (m <= dots && b.row_stride == 1) return inner_products(kernels, m, n, k, left, right, added, to);
  if (m <= combined && b.column_stride == 1) return combine_rows(kernels, m, n, k, left, right, added, to);
  multiply_panels(kernels, m, n, k, left, right, added, to);
}

}  // namespace weft::kernels
