#include "kernels/cpu/packed_bfloat16.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/rounding.h"
#include "kernels/cpu/product_scope.h"
#include "kernels/cpu/scratch.h"
#include "runtime/autotune.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// Sums over more of the depth are kept in memory between the parts.
constexpr int64_t kMostDepthOfPanels = 4096;
// Of panels that are taken at once: the second-level cache holds them beside the rows.
constexpr int64_t kPanelBytes = 512 << 10, kMostPanelsAtOnce = 12;
// Rows that are taken at once where they are put together, or their sums kept.
constexpr int64_t kRowsAtOnce = 96;

// How a product is divided. All give the same numbers.
struct PackedWay {
  int64_t panel_bytes = kPanelBytes, most_panels = kMostPanelsAtOnce, rows_at_once = kRowsAtOnce;
  bool copies_rows = false;   // always, not only where that is needed
  bool divides_rows = false;  // among the threads
};
constexpr std::array kPackedWays = {PackedWay{},
                                    PackedWay{.panel_bytes = 192 << 10},
                                    PackedWay{.panel_bytes = 96 << 10},
                                    PackedWay{.panel_bytes = 896 << 10, .most_panels = 24},
                                    PackedWay{.copies_rows = true},
                                    PackedWay{.rows_at_once = 256, .copies_rows = true},
                                    PackedWay{.divides_rows = true}};
constexpr std::array kNamesOfPackedWays = {"panels of 512 KiB",
                                           "panels of 192 KiB",
                                           "panels of 96 KiB",
                                           "panels of 896 KiB",
                                           "panels of 512 KiB, 96 rows copied",
                                           "panels of 512 KiB, 256 rows copied",
                                           "panels of 512 KiB, rows divided"};
constexpr int64_t kLeastHalvesToMeasure = 1 << 20;  // products: others take no time worth a choice
constexpr int64_t kLeastProducts = 1 << 17;         // of a thread

// Rows a multiple of 4 KiB apart share their lines' places in the first-level cache.
int64_t apart(int64_t depth) { return depth % 2048 == 0 ? depth + 32 : depth; }

}  // namespace

PackedBFloat16::PackedBFloat16(const BFloat16Kernels& engine, int64_t n, int64_t k, const uint16_t* weight,
                               const float* bias)
    : engine_(engine),
      n_(n),
      k_(k),
      panels_(ceil_div(n, kPairColumns)),
      depth_(std::max(engine.depth_unit, round_up(k, engine.depth_unit))),
      step_(round_up(ceil_div(depth_, ceil_div(depth_, kMostDepthOfPanels)), 32)),
      parts_(ceil_div(depth_, step_)) {
  weights_ = FloatBuffer(panels_ * depth_ * kPairColumns / 2);
  auto* const to = reinterpret_cast<uint16_t*>(weights_.data());
  parallel_for(0, panels_ * parts_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i / panels_, panel = i % panels_, first = part * step_, padded = part_depth(part),
                    column = panel * kPairColumns;
      engine.pack_columns({.b = weight + column * k + first,
                           .stride = k,
                           .columns = std::min(kPairColumns, n - column),
                           .depth = std::clamp<int64_t>(k - first, 0, padded),
                           .padded_depth = padded,
                           .panels = to + (first * panels_ + panel * padded) * kPairColumns,
                           .panel_stride = padded * kPairColumns});
    }
  });
  if (!bias) return;
  bias_ = FloatBuffer(panels_ * kPairColumns);
  std::copy_n(bias, n, bias_.data());
  std::fill(bias_.data() + n, bias_.data() + panels_ * kPairColumns, 0.0f);
}

int64_t PackedBFloat16::part_depth(int64_t part) const { return std::min(step_, depth_ - part * step_); }

class PackedBFloat16::Call {
 public:
  Call(const PackedBFloat16& matrix, const BFloat16Rows& x, int64_t m, const BFloat16Finish& finish,
       const PackedWay& way)
      : matrix_(matrix),
        x_(x),
        m_(m),
        finish_(finish),
        tiles_(ceil_div(m, matrix.engine_.max_rows)),
        row_stride_(apart(matrix.depth_)),
        divides_rows_(way.divides_rows),
        most_panels_(std::clamp<int64_t>(way.panel_bytes / (2 * matrix.step_ * kPairColumns), 1,
                                         std::min(way.most_panels, matrix.panels_))) {
    const bool crowded = x.stride % 2048 == 0 && tiles_ > 1 && matrix.panels_ > 4;
    copies_ = x.gather || matrix.depth_ != matrix.k_ || crowded || way.copies_rows;
    tiles_at_once_ = copies_ || matrix.parts_ > 1
                         ? std::max<int64_t>(1, way.rows_at_once / matrix.engine_.max_rows)
                         : tiles_;
  }

  void run() const {
    const int64_t threads = in_parallel_region() ? 1 : get_num_threads();
    // Columns are divided where all threads get as many of them, else rows.
    int64_t column_chunks = 1, row_chunks = 1;
    if (threads > 1 && !x_.gather && !divides_rows_ && matrix_.panels_ >= 4 * threads)
      column_chunks = std::min(ceil_div(matrix_.panels_, most_panels_), 4 * threads),
      column_chunks = round_up(column_chunks, threads);
    else if (threads > 1)
      row_chunks = std::min(tiles_, 4 * threads);
    if (row_chunks < threads) column_chunks = std::min(matrix_.panels_, 2 * threads);
    const int64_t chunks = row_chunks * column_chunks,
                  products = std::max<int64_t>(1, m_ * matrix_.n_ * matrix_.k_ / chunks);
    parallel_for(0, chunks, std::max<int64_t>(1, kLeastProducts / products), [&](int64_t begin, int64_t end) {
      const ProductScope scope(matrix_.engine_);
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t row = chunk / column_chunks, column = chunk % column_chunks;
        run_part(row * tiles_ / row_chunks, (row + 1) * tiles_ / row_chunks,
                 column * matrix_.panels_ / column_chunks, (column + 1) * matrix_.panels_ / column_chunks);
      }
    });
  }

 private:
  int64_t row_of(int64_t tile) const { return tile * m_ / tiles_; }

  void run_part(int64_t first_tile, int64_t end_tile, int64_t first_panel, int64_t end_panel) const {
    thread_local Scratch scratch;
    const int64_t rows = tiles_at_once_ * matrix_.engine_.max_rows,
                  sums_of_tile = matrix_.engine_.max_rows * most_panels_ * kPairColumns,
                  kept = matrix_.parts_ > 1 ? tiles_at_once_ : 1;
    float* const sums = scratch.floats(kept * sums_of_tile + (copies_ ? rows * row_stride_ / 2 : 0) + 1);
    auto* const copy = reinterpret_cast<uint16_t*>(sums + kept * sums_of_tile);
    for (int64_t tile = first_tile; tile < end_tile; tile += tiles_at_once_) {
      const int64_t end = std::min(end_tile, tile + tiles_at_once_);
      const uint16_t* x = x_.data + row_of(tile) * x_.stride;
      if (copies_) put_together(row_of(tile), row_of(end) - row_of(tile), copy), x = copy;
      for (int64_t panel = first_panel; panel < end_panel; panel += most_panels_)
        run_group(tile, end, panel, std::min(most_panels_, end_panel - panel), x,
                  copies_ ? row_stride_ : x_.stride, sums, sums_of_tile);
    }
  }

  void put_together(int64_t first, int64_t count, uint16_t* to) const {
    if (x_.gather)
      x_.gather(first, count, to, row_stride_);
    else
      for (int64_t i = 0; i < count; ++i)
        std::copy_n(x_.data + (first + i) * x_.stride, matrix_.k_, to + i * row_stride_);
    for (int64_t i = 0; i < count && matrix_.k_ < matrix_.depth_; ++i)
      std::fill(to + i * row_stride_ + matrix_.k_, to + i * row_stride_ + matrix_.depth_, uint16_t{0});
  }

  // Some tiles of rows, x from the first on, and panels.
  void run_group(int64_t first_tile, int64_t end_tile, int64_t panel, int64_t panels, const uint16_t* x,
                 int64_t stride, float* sums, int64_t sums_of_tile) const {
    const auto* const weights = reinterpret_cast<const uint16_t*>(matrix_.weights_.data());
    for (int64_t part = 0; part < matrix_.parts_; ++part) {
      const int64_t first = part * matrix_.step_, depth = matrix_.part_depth(part);
      for (int64_t tile = first_tile; tile < end_tile; ++tile) {
        float* const to = sums + (matrix_.parts_ > 1 ? (tile - first_tile) * sums_of_tile : 0);
        const int64_t row = row_of(tile), rows = row_of(tile + 1) - row;
        matrix_.engine_.multiply(
            {.a = x + (row - row_of(first_tile)) * stride + first,
             .a_stride = stride,
             .rows = rows,
             .panels = weights + (first * matrix_.panels_ + panel * depth) * kPairColumns,
             .panel_stride = depth * kPairColumns,
             .num_panels = panels,
             .depth = depth,
             .start = nullptr,
             .before = part > 0 ? to : nullptr,
             .sums = to,
             .sums_stride = panels * kPairColumns,
             .sums_step = kPairColumns,
             .y = nullptr,
             .y_stride = 0,
             .columns = matrix_.n_ - panel * kPairColumns});
        if (part + 1 == matrix_.parts_) finish(row, rows, panel, panels, to);
      }
    }
  }

  void finish(int64_t row, int64_t rows, int64_t panel, int64_t panels, const float* sums) const {
    const int64_t column = panel * kPairColumns;
    finish_rows_(
        {.rows = rows,
         .columns = std::min(panels * kPairColumns, matrix_.n_ - column),
         .sums = sums,
         .sums_stride = panels * kPairColumns,
         .integers = false,
         .row_scales = nullptr,
         .scales = nullptr,
         .bias = matrix_.bias_.data() ? matrix_.bias_.data() + column : nullptr,
         .activation = finish_.activation,
         .residual_first = finish_.residual_first,
         .bfloat16 = true,
         .residual = finish_.residual ? finish_.residual + row * finish_.residual_stride + column : nullptr,
         .residual_stride = finish_.residual_stride,
         .y = finish_.y + row * finish_.y_stride + column,
         .y_stride = finish_.y_stride});
  }

  const PackedBFloat16& matrix_;
  const BFloat16Rows& x_;
  const int64_t m_;
  const BFloat16Finish& finish_;
  const int64_t tiles_, row_stride_;
  const bool divides_rows_;
  const int64_t most_panels_;
  bool copies_ = false;
  int64_t tiles_at_once_ = 1;
  const FinishRowsFn finish_rows_ = finish_rows();
};

void PackedBFloat16::run(const BFloat16Rows& x, int64_t m, const BFloat16Finish& finish) const {
  if (m <= 0 || n_ <= 0) return;
  size_t way = 0;
  if (const int64_t rows = runtime::rows_to_measure(m, n_ * k_);
      runtime::is_autotuning() && rows * n_ * k_ >= kLeastHalvesToMeasure) {
    FloatBuffer scratch;
    // Division among threads is a question where there are several.
    const size_t ways = get_num_threads() > 1 ? kPackedWays.size() : kPackedWays.size() - 1;
    way = runtime::tuned_choice(
        {"packed bfloat16 product",
         {runtime::size_class(rows), n_, k_, x.gather != nullptr, x.stride % 2048 == 0,
          finish.residual != nullptr, static_cast<int64_t>(finish.activation), engine_.max_rows}},
        std::span(kNamesOfPackedWays).first(ways), [&](size_t each) {
          if (!scratch.data()) scratch = FloatBuffer((rows * n_ + 1) / 2);
          BFloat16Finish measured = finish;
          measured.y = reinterpret_cast<uint16_t*>(scratch.data());
          measured.y_stride = n_;
          Call(*this, x, rows, measured, kPackedWays[each]).run();
        });
  }
  Call(*this, x, m, finish, kPackedWays[way]).run();
}

}  // namespace weft::kernels
