#include "kernels/cpu/packed_int8.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

#include "core/rounding.h"
#include "kernels/cpu/scratch.h"
#include "runtime/autotune.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// Of panels that are taken at once: the second-level cache holds them beside the rows.
constexpr int64_t kInt8PanelBytes = 384 << 10, kMostInt8Panels = 12;
constexpr int64_t kInt8RowsAtOnce = 96, kLeastInt8Products = 1 << 18;
constexpr int64_t kLeastInt8ToMeasure = 1 << 20;  // products: others take no time worth a choice

// How a product is divided. All give the same numbers.
struct Int8Way {
  int64_t panel_bytes = kInt8PanelBytes, most_panels = kMostInt8Panels, rows_at_once = kInt8RowsAtOnce;
  bool divides_rows = false;  // among the threads
};
constexpr std::array kInt8Ways = {Int8Way{},
                                  Int8Way{.panel_bytes = 128 << 10},
                                  Int8Way{.panel_bytes = 64 << 10},
                                  Int8Way{.panel_bytes = 768 << 10, .most_panels = 24},
                                  Int8Way{.rows_at_once = 256},
                                  Int8Way{.panel_bytes = 128 << 10, .rows_at_once = 256},
                                  Int8Way{.divides_rows = true}};
constexpr std::array kNamesOfInt8Ways = {"panels of 384 KiB",
                                         "panels of 128 KiB",
                                         "panels of 64 KiB",
                                         "panels of 768 KiB",
                                         "panels of 384 KiB, 256 rows",
                                         "panels of 128 KiB, 256 rows",
                                         "panels of 384 KiB, rows divided"};

}  // namespace

PackedInt8::PackedInt8(const Int8Kernels& kernels, int64_t n, int64_t k, const int8_t* weight,
                       const float* scales, const float* bias)
    : kernels_(kernels),
      n_(n),
      k_(k),
      panels_(ceil_div(n, kInt8Columns)),
      depth_(round_up(k, kernels.depth_unit)) {
  const int64_t columns = panels_ * kInt8Columns;
  const auto filled = [&](const float* from) {
    if (!from) return FloatBuffer();
    FloatBuffer buffer(columns);
    std::copy_n(from, n, buffer.data());
    std::fill(buffer.data() + n, buffer.data() + columns, 0.0f);
    return buffer;
  };
  scales_ = filled(scales), bias_ = filled(bias);
  weights_ = FloatBuffer(ceil_div(columns * depth_, 4) + 1);
  starts_ = FloatBuffer(columns + 1);
  pack(weight);
}

// Panels, and what sums start at: the products of what bytes of x exceed their numbers by.
void PackedInt8::pack(const int8_t* weight) {
  auto* const to = reinterpret_cast<int8_t*>(weights_.data());
  auto* const starts = reinterpret_cast<int32_t*>(starts_.data());
  const bool exceeding = kernels_.inputs == Int8Inputs::Exceeding;
  parallel_for(0, panels_, std::max<int64_t>(1, 65536 / (kInt8Columns * (depth_ + 1))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t panel = begin; panel < end; ++panel) {
                   const int64_t column = panel * kInt8Columns, columns = std::min(kInt8Columns, n_ - column);
                   const int8_t* const from = weight + column * k_;
                   pack_int8_columns(kernels_, {.b = from,
                                                .stride = k_,
                                                .columns = columns,
                                                .depth = k_,
                                                .padded_depth = depth_,
                                                .panels = to + column * depth_,
                                                .panel_stride = 0});
                   std::fill_n(starts + column, kInt8Columns, 0);
                   for (int64_t j = 0; j < columns && exceeding; ++j)
                     starts[column + j] = -128 * std::accumulate(from + j * k_, from + (j + 1) * k_, 0);
                 }
               });
}

struct PackedInt8::Call {
  const PackedInt8& matrix;
  const int8_t* const x;
  const int64_t m;
  const Int8Finish* const finish;
  int32_t* const result;  // where there is no finish
  const Int8Way way;

  const int64_t max_rows = matrix.kernels_.max_rows, tiles = ceil_div(m, max_rows),
                tiles_at_once = std::max<int64_t>(1, way.rows_at_once / max_rows),
                element = matrix.kernels_.inputs == Int8Inputs::Words ? 2 : 1,
                // Not a multiple of 4 KiB apart, where rows would share their places in the cache.
      copied_bytes = matrix.depth_ * element + (matrix.depth_ * element % 1024 == 0 ? 64 : 0),
                most_panels = std::clamp<int64_t>(
                    way.panel_bytes / std::max<int64_t>(1, kInt8Columns* matrix.depth_), 1, way.most_panels);
  // Rows that the kernels take as they lie.
  const bool in_place = matrix.kernels_.inputs == Int8Inputs::Signed && matrix.depth_ == matrix.k_ &&
                        (copied_bytes == matrix.k_ || tiles == 1 || matrix.panels_ <= 4);
  const int64_t row_bytes = in_place ? matrix.k_ : copied_bytes;
  const FinishRowsFn finish_rows_of_tile = finish_rows();

  int64_t row_of(int64_t tile) const { return tile * m / tiles; }

  void run() const {
    const int64_t threads = in_parallel_region() ? 1 : get_num_threads();
    int64_t row_chunks = 1, column_chunks = 1;
    if (threads > 1 && !way.divides_rows && matrix.panels_ >= 4 * threads)
      column_chunks = 2 * threads;
    else if (threads > 1)
      row_chunks = std::min(tiles, 4 * threads);
    const int64_t chunks = row_chunks * column_chunks,
                  products = std::max<int64_t>(1, m * matrix.n_ * matrix.k_ / chunks);
    parallel_for(
        0, chunks, std::max<int64_t>(1, kLeastInt8Products / products), [&](int64_t begin, int64_t end) {
          for (int64_t chunk = begin; chunk < end; ++chunk) {
            const int64_t row = chunk / column_chunks, column = chunk % column_chunks;
            run_part(row * tiles / row_chunks, (row + 1) * tiles / row_chunks,
                     column * matrix.panels_ / column_chunks, (column + 1) * matrix.panels_ / column_chunks);
          }
        });
  }

  void run_part(int64_t first_tile, int64_t end_tile, int64_t first_panel, int64_t end_panel) const {
    thread_local Scratch scratch;
    const int64_t sums_size = max_rows * most_panels * kInt8Columns;
    const int64_t rows_size = in_place ? 0 : ceil_div(tiles_at_once * max_rows * row_bytes, 4);
    float* const memory = scratch.floats(sums_size + rows_size + 1);
    auto* const sums = reinterpret_cast<int32_t*>(memory);
    char* const memory_of_rows = reinterpret_cast<char*>(memory + sums_size);
    for (int64_t tile = first_tile; tile < end_tile; tile += tiles_at_once) {
      const int64_t end = std::min(end_tile, tile + tiles_at_once);
      if (!in_place) put_rows(row_of(tile), row_of(end) - row_of(tile), memory_of_rows);
      const char* const rows =
          in_place ? reinterpret_cast<const char*>(x) + row_of(tile) * matrix.k_ : memory_of_rows;
      for (int64_t panel = first_panel; panel < end_panel; panel += most_panels)
        for (int64_t each = tile; each < end; ++each)
          multiply(each, panel, std::min(most_panels, end_panel - panel),
                   rows + (row_of(each) - row_of(tile)) * row_bytes, sums);
    }
  }

  // As the kernels take them.
  void put_rows(int64_t first, int64_t count, char* to) const {
    for (int64_t i = 0; i < count; ++i, to += row_bytes) {
      const int8_t* const from = x + (first + i) * matrix.k_;
      if (matrix.kernels_.inputs == Int8Inputs::Signed) {
        std::copy_n(from, matrix.k_, to);
        std::fill(to + matrix.k_, to + matrix.depth_, char{0});
      } else if (matrix.kernels_.inputs == Int8Inputs::Exceeding) {
        int64_t p = 0;
        for (; p + 8 <= matrix.k_; p += 8) {
          uint64_t word;
          std::memcpy(&word, from + p, sizeof(word));
          word ^= 0x8080808080808080u;
          std::memcpy(to + p, &word, sizeof(word));
        }
        for (; p < matrix.k_; ++p) to[p] = static_cast<char>(from[p] ^ -128);
        std::fill(to + matrix.k_, to + matrix.depth_, char{0});
      } else {
        auto* const words = reinterpret_cast<int16_t*>(to);
        for (int64_t p = 0; p < matrix.k_; ++p) words[p] = from[p];
        std::fill(words + matrix.k_, words + matrix.depth_, int16_t{0});
      }
    }
  }

  void multiply(int64_t tile, int64_t panel, int64_t panels, const char* rows, int32_t* sums) const {
    const int64_t row = row_of(tile), count = row_of(tile + 1) - row, column = panel * kInt8Columns,
                  stride = panels * kInt8Columns, columns = std::min(stride, matrix.n_ - column);
    matrix.kernels_.multiply(
        {.a = rows,
         .a_bytes = row_bytes,
         .rows = count,
         .panels = reinterpret_cast<const int8_t*>(matrix.weights_.data()) + column * matrix.depth_,
         .panel_stride = kInt8Columns * matrix.depth_,
         .num_panels = panels,
         .depth = matrix.depth_,
         .start = reinterpret_cast<const int32_t*>(matrix.starts_.data()) + column,
         .sums = sums,
         .sums_stride = stride});
    const int64_t at = row * matrix.n_ + column;
    if (!finish) {
      for (int64_t i = 0; i < count; ++i)
        std::copy_n(sums + i * stride, columns, result + at + i * matrix.n_);
      return;
    }
    const int64_t bytes = finish->bfloat16 ? 2 : 4;
    finish_rows_of_tile(
        {.rows = count,
         .columns = columns,
         .sums = sums,
         .sums_stride = stride,
         .integers = true,
         .row_scales = finish->row_scales ? finish->row_scales + row : nullptr,
         .scales = matrix.scales_.data() ? matrix.scales_.data() + column : nullptr,
         .bias = matrix.bias_.data() ? matrix.bias_.data() + column : nullptr,
         .activation = finish->activation,
         .residual_first = false,
         .bfloat16 = finish->bfloat16,
         .residual = finish->residual ? static_cast<const char*>(finish->residual) + at * bytes : nullptr,
         .residual_stride = matrix.n_,
         .y = static_cast<char*>(finish->y) + at * bytes,
         .y_stride = matrix.n_});
  }
};

void PackedInt8::run(const int8_t* x, int64_t m, const Int8Finish& finish) const {
  if (m <= 0 || n_ <= 0) return;
  size_t way = 0;
  if (const int64_t rows = runtime::rows_to_measure(m, n_ * k_);
      runtime::is_autotuning() && rows * n_ * k_ >= kLeastInt8ToMeasure) {
    FloatBuffer scratch;
    // Division among threads is a question where there are several.
    const size_t ways = get_num_threads() > 1 ? kInt8Ways.size() : kInt8Ways.size() - 1;
    way = runtime::tuned_choice(
        {"packed int8 product",
         {runtime::size_class(rows), n_, k_, finish.residual != nullptr,
          static_cast<int64_t>(finish.activation), finish.bfloat16, kernels_.depth_unit, kernels_.max_rows}},
        std::span(kNamesOfInt8Ways).first(ways), [&](size_t each) {
          if (!scratch.data()) scratch = FloatBuffer(rows * n_);
          Int8Finish measured = finish;
          measured.y = scratch.data();
          Call{*this, x, rows, &measured, nullptr, kInt8Ways[each]}.run();
        });
  }
  Call{*this, x, m, &finish, nullptr, kInt8Ways[way]}.run();
}

void PackedInt8::run(const int8_t* x, int64_t m, int32_t* sums) const {
  if (m > 0 && n_ > 0) Call{*this, x, m, nullptr, sums, {}}.run();
}

void pack_int8_columns(const Int8Kernels& kernels, const PackInt8Args& args) {
  if (kernels.pack_columns) return kernels.pack_columns(args);
  const int64_t together = kernels.together;
  for (int64_t j = 0; j < ceil_div(args.columns, kInt8Columns) * kInt8Columns; ++j) {
    int8_t* const panel = args.panels + j / kInt8Columns * args.panel_stride + j % kInt8Columns * together;
    const int64_t depth = j < args.columns ? args.depth : 0;
    for (int64_t p = 0; p < args.padded_depth; ++p)
      panel[p / together * kInt8Columns * together + p % together] =
          p < depth ? args.b[j * args.stride + p] : int8_t{0};
  }
}

namespace {

typedef float Eight __attribute__((vector_size(32)));
typedef int32_t EightWords __attribute__((vector_size(32)));
typedef int8_t EightBytes __attribute__((vector_size(8)));

Eight eight(const float* from, int64_t count) {
  Eight value{};
  std::memcpy(&value, from, static_cast<size_t>(std::min<int64_t>(count, 8)) * sizeof(float));
  return value;
}

// The largest magnitude; NaN where one is that.
float largest_magnitude(const float* x, int64_t k) {
  Eight most{}, nan{};
  for (int64_t p = 0; p < k; p += 8) {
    const Eight value = k - p >= 8 ? eight(x + p, 8) : eight(x + p, k - p), negative = -value;
    const Eight magnitude = value > negative ? value : negative;
    most = magnitude > most ? magnitude : most;
    nan = value != value ? value : nan;
  }
  float result = 0;
  for (int lane = 0; lane < 8; ++lane) {
    if (nan[lane] != nan[lane]) return nan[lane];
    result = std::max(result, most[lane]);
  }
  return result;
}

void quantize_row(const float* x, int64_t k, float scale, int8_t* q) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: added and taken off, it rounds to integers
  for (int64_t p = 0; p < k; p += 8) {
    Eight value = (k - p >= 8 ? eight(x + p, 8) : eight(x + p, k - p)) / scale;
    value = value < -127.0f ? Eight{} - 127.0f : value;
    value = value > 127.0f ? Eight{} + 127.0f : value;
    const EightBytes bytes =
        __builtin_convertvector(__builtin_convertvector((value + kMagic) - kMagic, EightWords), EightBytes);
    std::memcpy(q + p, &bytes, static_cast<size_t>(std::min<int64_t>(k - p, 8)));
  }
}

}  // namespace

void quantize_tokens(const float* x, int64_t rows, int64_t k, int8_t* q, float* scales) {
  parallel_for(
      0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, k)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const float most = largest_magnitude(x + i * k, k), scale = (most < 1e-5f ? 1e-5f : most) / 127.0f;
          scales[i] = scale;
          if (std::isfinite(scale))
            quantize_row(x + i * k, k, scale, q + i * k);
          else
            std::fill_n(q + i * k, k, int8_t{0});
        }
      });
}

}  // namespace weft::kernels
