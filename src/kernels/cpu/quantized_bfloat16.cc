// Products of many rows with packed bfloat16 weights on an engine (bfloat16_kernels.h): inputs are bfloat16,
// or are rounded to it. Panels of weights become the engine's, a part of the depth at a time. Numbers of int8
// weights are bfloat16's, too; those of int4 weights are rounded to it.
#include <algorithm>

#include "core/rounding.h"
#include "kernels/cpu/product_scope.h"
#include "kernels/cpu/quantized_matrix.h"

namespace weft::kernels {
namespace {

constexpr int64_t kDepth =
    512;  // inputs whose weights are taken at once; with the sums they stay in the second level
static_assert(kPanel == 2 * kPairColumns);

}  // namespace

struct PackedMatrix::ManyBFloat16 {
  const PackedMatrix& matrix;
  const ProductArgs& args;
  const BFloat16Kernels& engine;
  const int64_t depth, tiles;
  uint16_t* const x;  // [rows][depth]
  const int64_t x_stride;

  ManyBFloat16(const PackedMatrix& matrix, const ProductArgs& args, const BFloat16Kernels& engine,
               Scratch& scratch)
      : matrix(matrix),
        args(args),
        engine(engine),
        depth(round_up(matrix.packed_in_, engine.depth_unit)),
        tiles((args.rows + engine.max_rows - 1) / engine.max_rows),
        x(reinterpret_cast<uint16_t*>(scratch.floats(args.rows * (round_up(depth, 64) + 32) / 2))),
        // Rows a multiple of 4 KiB apart would share their lines' places in the first-level cache.
        x_stride(round_up(depth, 64) + 32) {}

  static void round_rows(void* context, int64_t begin, int64_t end) {
    const auto& self = *static_cast<const ManyBFloat16*>(context);
    for (int64_t i = begin; i < end; ++i) self.round_row(i);
  }
  void round_row(int64_t i) const {
    uint16_t* const to = x + i * x_stride;
    const int64_t start = i * args.x.stride;
    if (args.x.dtype == DType::F32) {
      engine.round(static_cast<const float*>(args.x.data) + start, matrix.in_, to);
    } else if (args.x.dtype == DType::BF16) {
      std::copy_n(static_cast<const uint16_t*>(args.x.data) + start, matrix.in_, to);
    } else {
      constexpr int64_t kFloats = 256;
      alignas(64) float numbers[kFloats];
      for (int64_t k = 0; k < matrix.in_; k += kFloats) {
        const int64_t count = std::min(kFloats, matrix.in_ - k);
        to_floats(args.x, i, 1, k, count, count, numbers, kFloats);
        engine.round(numbers, count, to + k);
      }
    }
    std::fill(to + matrix.in_, to + depth, uint16_t{0});
  }

  static void run(void* context, int64_t begin, int64_t end) {
    thread_local Scratch scratch;
    const auto& self = *static_cast<const ManyBFloat16*>(context);
    const int64_t sums = kPanelsAtOnce * self.panel_sums();
    float* const memory = scratch.floats(sums + kPanelsAtOnce * kDepth * kPanel / 2);
    const ProductScope scope(self.engine);
    for (int64_t panel = begin; panel < end; panel += kPanelsAtOnce)
      self.run_panels(panel, std::min(kPanelsAtOnce, end - panel), memory,
                      reinterpret_cast<uint16_t*>(memory + sums));
  }
  int64_t panel_sums() const { return args.rows * kPanel; }

  // Weights of inputs [k, k + padded) of a panel as two of the engine's.
  void take_weights(int64_t panel, int64_t k, int64_t padded, uint16_t* to) const {
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
                            .panel_stride = padded * kPairColumns};
    (matrix.format_ == WeightFormat::Int8 ? engine.expand_int8 : engine.expand_int4)(expand);
  }

  // sums: [panels][rows][64]
  void run_panels(int64_t first, int64_t panels, float* sums, uint16_t* weights) const {
    for (int64_t k = 0; k < depth; k += kDepth) {
      const int64_t padded = std::min(kDepth, depth - k);
      for (int64_t i = 0; i < panels; ++i) take_weights(first + i, k, padded, weights + i * padded * kPanel);
      for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t row = tile * args.rows / tiles, rows = (tile + 1) * args.rows / tiles - row;
        for (int64_t i = 0; i < panels; ++i) {
          float* const to = sums + i * panel_sums() + row * kPanel;
          engine.multiply({.a = x + row * x_stride + k,
                           .a_stride = x_stride,
                           .rows = rows,
                           .panels = weights + i * padded * kPanel,
                           .panel_stride = padded * kPairColumns,
                           .num_panels = 2,
                           .depth = padded,
                           .start = nullptr,
                           .before = k > 0 ? to : nullptr,
                           .sums = to,
                           .sums_stride = kPanel,
                           .sums_step = kPairColumns,
                           .y = nullptr,
                           .y_stride = 0,
                           .columns = kPanel});
        }
      }
    }
    matrix.finish(args, first, panels, sums, panel_sums());
  }
};

bool PackedMatrix::takes_bfloat16(const ProductArgs& args, const BFloat16Kernels& engine) const {
  if (in_ == 0 || args.rows <= kFewRows) return false;
  const bool halves = args.precision == InputPrecision::BFloat16 ||
                      (args.precision == InputPrecision::Auto && args.x.dtype == DType::BF16);
  if (format_ == WeightFormat::BF16) return halves;
  // Tiles alone are faster than the instructions for bytes; they round inputs by less than Int8 does.
  if (!engine.has_tiles || (format_ != WeightFormat::Int8 && format_ != WeightFormat::Int4)) return false;
  return args.precision == InputPrecision::BFloat16 || args.precision == InputPrecision::Int8;
}

void PackedMatrix::multiply_bfloat16(const ProductArgs& args, const BFloat16Kernels& engine) const {
  thread_local Scratch scratch;
  ManyBFloat16 batch(*this, args, engine, scratch);
  parallel_for_raw(0, args.rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, in_)),
                   ManyBFloat16::round_rows, &batch);
  for_each_panel(ManyBFloat16::run, &batch);
}

}  // namespace weft::kernels
