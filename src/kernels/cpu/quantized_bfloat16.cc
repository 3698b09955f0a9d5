// Products of many rows with packed weights on an engine (bfloat16_kernels.h). Inputs are bfloat16, are
// rounded to it, or are two numbers of it each: themselves, rounded, and what that left. Panels of weights
// become the engine's, a part of the depth at a time. Numbers of int8 weights are bfloat16's, too; those of
// int4 weights are one number or two, as inputs are.
#include <algorithm>

#include "core/rounding.h"
#include "kernels/cpu/product_scope.h"
#include "kernels/cpu/quantized_matrix.h"

namespace weft::kernels {
namespace {

constexpr int64_t kInputsAtOnce =
    512;  // inputs whose weights are taken at once; with the sums they stay in the second level
static_assert(kPanel == 2 * kPairColumns);

}  // namespace

struct PackedMatrix::ManyBFloat16 {
  const PackedMatrix& matrix;
  const ProductArgs& args;
  const BFloat16Kernels& engine;
  const BFloat16Parts parts;
  const int64_t depth, tiles;
  // Rows a multiple of 4 KiB apart would share their lines' places in the first-level cache.
  const int64_t x_stride;
  uint16_t* const x;  // [parts][rows][depth]

  ManyBFloat16(const PackedMatrix& matrix, const ProductArgs& args, const BFloat16Kernels& engine,
               BFloat16Parts parts, Scratch& scratch)
      : matrix(matrix),
        args(args),
        engine(engine),
        parts(parts),
        depth(round_up(matrix.packed_in_, engine.depth_unit)),
        tiles(ceil_div(args.rows, engine.max_rows)),
        x_stride(round_up(depth, 64) + 32),
        x(reinterpret_cast<uint16_t*>(scratch.floats(parts.inputs * args.rows * x_stride / 2))) {}

  static void round_rows(void* context, int64_t begin, int64_t end) {
    const auto& self = *static_cast<const ManyBFloat16*>(context);
    for (int64_t i = begin; i < end; ++i) self.round_row(i);
  }
  void take(const float* numbers, int64_t count, uint16_t* to) const {
    if (parts.inputs == 2)
      engine.split(numbers, count, to, to + args.rows * x_stride);
    else
      engine.round(numbers, count, to);
  }
  void round_row(int64_t i) const {
    uint16_t* const to = x + i * x_stride;
    const int64_t start = i * args.x.stride;
    if (args.x.dtype == DType::F32) {
      take(static_cast<const float*>(args.x.data) + start, matrix.in_, to);
    } else if (args.x.dtype == DType::BF16) {
      std::copy_n(static_cast<const uint16_t*>(args.x.data) + start, matrix.in_, to);
    } else {
      constexpr int64_t kFloats = 256;
      alignas(64) float numbers[kFloats];
      for (int64_t k = 0; k < matrix.in_; k += kFloats) {
        const int64_t count = std::min(kFloats, matrix.in_ - k);
        to_floats(args.x, i, 1, k, count, count, numbers, kFloats);
        take(numbers, count, to + k);
      }
    }
    for (int64_t part = 0; part < parts.inputs; ++part) {
      uint16_t* const row = to + part * args.rows * x_stride;
      std::fill(row + matrix.in_, row + depth, uint16_t{0});
    }
  }

  static void run(void* context, int64_t begin, int64_t end) {
    thread_local Scratch scratch;
    const auto& self = *static_cast<const ManyBFloat16*>(context);
    const int64_t sums = kPanelsAtOnce * self.panel_sums();
    float* const memory =
        scratch.floats(sums + self.parts.weights * kPanelsAtOnce * kInputsAtOnce * kPanel / 2);
    const ProductScope scope(self.engine);
    for (int64_t panel = begin; panel < end; panel += kPanelsAtOnce)
      self.run_panels(panel, std::min(kPanelsAtOnce, end - panel), memory,
                      reinterpret_cast<uint16_t*>(memory + sums));
  }
  int64_t panel_sums() const { return args.rows * kPanel; }

  // Weights of inputs [k, k + padded) of a panel as two of the engine's. low: where their second parts go.
  void take_weights(int64_t panel, int64_t k, int64_t padded, uint16_t* to, uint16_t* low) const {
    const uint8_t* const from = matrix.panel(panel) + matrix.offset_of(k);
    if (matrix.format_ == WeightFormat::BF16)
      return engine.pack_rows({.b = reinterpret_cast<const uint16_t*>(from),
                               .stride = kPanel,
                               .columns = kPanel,
                               .depth = std::clamp<int64_t>(matrix.in_ - k, 0, padded),
                               .padded_depth = padded,
                               .panels = to,
                               .panel_stride = padded * kPairColumns});
    const ExpandArgs expand{.weights = from,
                            .depth = std::clamp<int64_t>(matrix.packed_in_ - k, 0, padded),
                            .group = matrix.group_,
                            .padded_depth = padded,
                            .panels = to,
                            .panel_stride = padded * kPairColumns,
                            .low = low};
    (matrix.format_ == WeightFormat::Int8 ? engine.expand_int8 : engine.expand_int4)(expand);
  }

  // sums: [panels][rows][64]; weights: [parts][panels][depth taken at once][64]
  void run_panels(int64_t first, int64_t panels, float* sums, uint16_t* weights) const {
    for (int64_t k = 0; k < depth; k += kInputsAtOnce) {
      const int64_t padded = std::min(kInputsAtOnce, depth - k);
      uint16_t* const low = parts.weights == 2 ? weights + panels * padded * kPanel : nullptr;
      for (int64_t i = 0; i < panels; ++i) {
        const int64_t at = i * padded * kPanel;
        take_weights(first + i, k, padded, weights + at, low ? low + at : nullptr);
      }
      for (int64_t tile = 0; tile < tiles; ++tile)
        for (int64_t i = 0; i < panels; ++i) {
          float* const to = sums + i * panel_sums();
          const int64_t at = i * padded * kPanel;
          multiply(tile, k, padded, weights + at, parts.inputs == 2, k > 0, to);
          if (low) multiply(tile, k, padded, low + at, parts.inputs == 2, true, to);
        }
    }
    matrix.finish(args, first, panels, sums, panel_sums());
  }

  // A tile of rows, both parts of it or the first, times inputs [k, k + padded) of a panel.
  void multiply(int64_t tile, int64_t k, int64_t padded, const uint16_t* panel, bool both, bool goes_on,
                float* sums) const {
    const int64_t row = tile * args.rows / tiles, rows = (tile + 1) * args.rows / tiles - row;
    const uint16_t* const a = x + row * x_stride + k;
    float* const to = sums + row * kPanel;
    engine.multiply({.a = a,
                     .a_stride = x_stride,
                     .rows = rows,
                     .panels = panel,
                     .panel_stride = padded * kPairColumns,
                     .num_panels = 2,
                     .depth = padded,
                     .start = nullptr,
                     .before = goes_on ? to : nullptr,
                     .sums = to,
                     .sums_stride = kPanel,
                     .sums_step = kPairColumns,
                     .y = nullptr,
                     .y_stride = 0,
                     .columns = kPanel,
                     .low = both ? a + args.rows * x_stride : nullptr});
  }
};

BFloat16Parts PackedMatrix::parts_for(const ProductArgs& args, const BFloat16Kernels& engine) const {
  constexpr BFloat16Parts kNone{0, 0}, kRounded{1, 1};
  if (in_ == 0 || args.rows <= kFewRows) return kNone;
  const bool halves = args.x.dtype == DType::BF16, int8 = format_ == WeightFormat::Int8,
             int4 = format_ == WeightFormat::Int4;
  const InputPrecision precision = resolved(args.precision);
  if (format_ == WeightFormat::BF16 &&
      (precision == InputPrecision::BFloat16 || (precision == InputPrecision::Auto && halves)))
    return kRounded;
  if (!engine.has_tiles || !(int8 || int4 || format_ == WeightFormat::BF16)) return kNone;
  switch (precision) {
    case InputPrecision::BFloat16:
    // Tiles alone are faster than the instructions for bytes; they round inputs by less than Int8 does.
    case InputPrecision::Int8: return int8 || int4 ? kRounded : kNone;
    // Two products of bfloat16 on tiles are faster than two of bytes without them, four are not. A second
    // part of an input, times an infinite weight, would be NaN or the other infinity.
    case InputPrecision::Auto:
      if (!is_finite_ || (int4 && !halves)) return kNone;
      return {halves ? 1 : 2, int4 ? 2 : 1};
    default: return kNone;
  }
}

void PackedMatrix::multiply_bfloat16(const ProductArgs& args, const BFloat16Kernels& engine,
                                     BFloat16Parts parts) const {
  thread_local Scratch scratch;
  ManyBFloat16 batch(*this, args, engine, parts, scratch);
  parallel_for_raw(0, args.rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, in_)),
                   ManyBFloat16::round_rows, &batch);
  for_each_panel(ManyBFloat16::run, &batch);
}

}  // namespace weft::kernels
