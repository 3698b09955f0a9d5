// Products of rows that are rounded to integers, of 16 or 8 bits, with int8 and int4 weights.
#include <algorithm>
#include <cstring>

#include "core/rounding.h"
#include "kernels/cpu/quantized_matrix.h"

namespace weft::kernels {
namespace {

constexpr int64_t kChunk = 1024;  // inputs, whose weights of a panel stay in the second-level cache
constexpr int64_t kBlock = 512;   // inputs of many rows: half their weights of a panel stay in the first
constexpr int32_t kOffsets[] = {128, 8, 0};  // by kind; of Groups, the layout has it
constexpr int64_t kUnpacked =
    256;  // inputs whose groups are unpacked at once: they stay in the first-level cache
constexpr int64_t kInt8Group = 128;  // inputs with one scale where the weights have no groups

// The float32 inputs [k, k + count) of row i: where they are, or in `copy` with zeros past the end.
const float* inputs_of(const ProductArgs& args, int64_t i, int64_t k, int64_t count, int64_t in,
                       float* copy) {
  if (args.x.dtype == DType::F32 && k + count <= in)
    return static_cast<const float*>(args.x.data) + i * args.x.stride + k;
  to_floats(args.x, i, 1, k, std::min(count, in - k), count, copy, count);
  return copy;
}

// What belongs to each group of inputs.
struct Groups {
  int64_t size, count;
  float *scales, *sums;
  int32_t* starts;

  // Takes three times `rows` times `count` of `memory`; returns what is left.
  float* place(int64_t rows, float* memory) {
    scales = memory;
    sums = scales + rows * count;
    starts = reinterpret_cast<int32_t*>(sums + rows * count);
    return sums + 2 * rows * count;
  }
};

}  // namespace

// What few and many rows have in common.
struct PackedMatrix::IntegerProduct {
  const PackedMatrix& matrix;
  const ProductArgs& args;
  int planes;
  // Which of the kernels: 0, 1 and 2 for Int8, Int4 and Groups.
  int kind;
  Groups groups;
  int8_t* values = nullptr;

  IntegerProduct(const PackedMatrix& matrix, const ProductArgs& args, int planes)
      : matrix(matrix),
        args(args),
        planes(planes),
        kind(static_cast<int>(matrix.format_) - static_cast<int>(WeightFormat::Int8)) {
    groups.size = kind > 0 ? matrix.group_ : kInt8Group;
    groups.count = ceil_div(matrix.packed_in_, groups.size);
  }

  // Inputs [k, k + count) of row i. at, group_at: where its values and what belongs to its groups go.
  void round(int64_t i, int64_t k, int64_t count, int64_t step, int64_t plane, int64_t at, int64_t group_at,
             int64_t groups_stride) const {
    alignas(64) float copy[kChunk];
    quantized_kernels().quantize_row({.x = inputs_of(args, i, k, count, matrix.in_, copy),
                                      .k = count,
                                      .step = step,
                                      .plane = plane,
                                      .group = groups.size,
                                      .planes = planes,
                                      .offset = kOffsets[kind] + matrix.layout_.offset,
                                      .for_tiles = step != 4,
                                      .has_scales = kind > 0,
                                      .groups_stride = groups_stride,
                                      .values = values + at,
                                      .scales = groups.scales + group_at,
                                      .sums = groups.sums + group_at,
                                      .starts = groups.starts + group_at});
  }
};

// ---- few rows ----------------------------------------------------------------------------------
// x as [chunks of inputs][rows][planes][kChunk] bytes; groups as [rows][groups].
struct PackedMatrix::FewIntegers : IntegerProduct {
  FewIntegers(const PackedMatrix& matrix, const ProductArgs& args, int planes, Scratch& scratch)
      : IntegerProduct(matrix, args, planes) {
    const int64_t bytes = args.rows * planes * ceil_div(matrix.packed_in_, kChunk) * kChunk;
    float* const memory = scratch.floats(3 * args.rows * groups.count + bytes / 4);
    values = reinterpret_cast<int8_t*>(groups.place(args.rows, memory));
  }

  static void round_rows(void* context, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) static_cast<const FewIntegers*>(context)->round_row(i);
  }
  void round_row(int64_t i) const {
    for (int64_t k = 0; k < matrix.packed_in_; k += kChunk)
      round(i, k, std::min(kChunk, matrix.packed_in_ - k), 4, kChunk, (k * args.rows + i * kChunk) * planes,
            i * groups.count + k / groups.size, 1);
  }

  static void run(void* context, int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel)
      static_cast<const FewIntegers*>(context)->run_panel(panel);
  }
  void run_panel(int64_t panel) const {
    alignas(64) float sums[kMaxSmallBatch * kPanel] = {};
    for (int64_t k = 0; k < matrix.packed_in_; k += kChunk) {
      const int64_t count = std::min(kChunk, matrix.packed_in_ - k);
      const uint8_t* const weights = matrix.panel(panel) + matrix.offset_of(k);
      if (kind < 2)
        add_products(k, k, count, weights, nullptr, sums);
      else
        add_groups(k, count, weights, sums);
    }
    matrix.finish(args, panel, 1, sums, 0);
  }

  void add_groups(int64_t k, int64_t count, const uint8_t* weights, float* sums) const {
    thread_local Scratch scratch;
    float* const scales = scratch.floats(kUnpacked / groups.size * 2 * kPanel + kUnpacked * kPanel / 4);
    auto* const bytes = reinterpret_cast<uint8_t*>(scales + kUnpacked / groups.size * 2 * kPanel);
    for (int64_t at = 0; at < count; at += kUnpacked) {
      const int64_t some = std::min(kUnpacked, count - at);
      quantized_kernels().unpack_groups(weights + matrix.offset_of(at), some, matrix.layout_, bytes, scales);
      add_products(k, k + at, some, bytes, scales, sums);
    }
  }

  // Inputs [k, k + count), of the chunk that begins at `chunk`.
  void add_products(int64_t chunk, int64_t k, int64_t count, const uint8_t* weights, const float* scales,
                    float* sums) const {
    const QuantizedKernels& kernels = quantized_kernels();
    const int64_t parts = ceil_div(args.rows, kernels.dot_rows[planes - 1]);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = part * args.rows / parts, rows = (part + 1) * args.rows / parts - first;
      const int64_t group = first * groups.count + k / groups.size;
      kernels.dot[kind][planes - 1][rows](
          {.x = values + (chunk * args.rows + first * kChunk) * planes + k - chunk,
           .x_stride = planes * kChunk,
           .x_plane = kChunk,
           .x_scales = groups.scales + group,
           .x_sums = groups.sums + group,
           .x_starts = groups.starts + group,
           .groups_stride = groups.count,
           .k = count,
           .group = groups.size,
           .weights = weights,
           .scales = scales,
           .y = sums + first * kPanel});
    }
  }
};

// ---- many rows ---------------------------------------------------------------------------------
// x as [blocks of kBlock inputs][tiles][kBlock / 4][rows][planes][4] bytes; groups as [tiles][groups][rows].
struct PackedMatrix::ManyIntegers : IntegerProduct {
  int64_t tile_rows, tiles;

  ManyIntegers(const PackedMatrix& matrix, const ProductArgs& args, int planes, Scratch& scratch)
      : IntegerProduct(matrix, args, planes) {
    tile_rows = quantized_kernels().tile_lines / planes;
    tiles = ceil_div(args.rows, tile_rows);
    const int64_t rows = tiles * tile_rows,
                  bytes = rows * planes * ceil_div(matrix.packed_in_, kBlock) * kBlock;
    values =
        reinterpret_cast<int8_t*>(groups.place(rows, scratch.floats(3 * rows * groups.count + bytes / 4)));
  }
  int64_t tile_bytes() const { return tile_rows * planes * kBlock; }

  static void round_tiles(void* context, int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile)
      static_cast<const ManyIntegers*>(context)->round_tile(tile);
  }
  void round_tile(int64_t tile) const {
    for (int64_t k = 0; k < matrix.packed_in_; k += kBlock) {
      const int64_t count = std::min(kBlock, matrix.packed_in_ - k);
      for (int64_t line = 0; line < tile_rows; ++line) {
        // Past the last row, it once more: the products are not used.
        const int64_t i = std::min(tile * tile_rows + line, args.rows - 1);
        round(i, k, count, 4 * tile_rows * planes, 4,
              (k / kBlock * tiles + tile) * tile_bytes() + 4 * line * planes,
              (tile * groups.count + k / groups.size) * tile_rows + line, tile_rows);
      }
    }
  }

  static void run(void* context, int64_t begin, int64_t end) {
    const ManyIntegers& self = *static_cast<const ManyIntegers*>(context);
    thread_local Scratch scratch;
    const int64_t sums = kPanelsAtOnce * self.panel_sums(), scales = kBlock / self.groups.size * 2 * kPanel;
    float* const memory = scratch.floats(sums + (self.kind > 0 ? scales + kBlock * kPanel / 4 : 0));
    for (int64_t panel = begin; panel < end; panel += kPanelsAtOnce)
      self.run_panels(panel, std::min(kPanelsAtOnce, end - panel), memory, memory + sums,
                      memory + sums + scales);
  }
  int64_t panel_sums() const { return tiles * tile_rows * kPanel; }

  // sums: [panels][rows][64]. scales, bytes: room for a panel's int4 weights or groups of kBlock inputs.
  void run_panels(int64_t first, int64_t panels, float* sums, float* scales, float* bytes) const {
    std::fill(sums, sums + panels * panel_sums(), 0.0f);
    for (int64_t k = 0; k < matrix.packed_in_; k += kBlock)
      for (int64_t i = 0; i < panels; ++i) {
        const uint8_t* const next = matrix.next_block(first, i, panels, k, kBlock);
        add_products(first + i, k, next, sums + i * panel_sums(), scales, reinterpret_cast<uint8_t*>(bytes));
      }
    matrix.finish(args, first, panels, sums, panel_sums());
  }

  void add_products(int64_t panel, int64_t k, const uint8_t* next, float* sums, float* scales,
                    uint8_t* bytes) const {
    const int64_t count = std::min(kBlock, matrix.packed_in_ - k), group = k / groups.size * tile_rows;
    const uint8_t* weights = matrix.panel(panel) + matrix.offset_of(k);
    if (kind == 1) quantized_kernels().unpack_int4(weights, count, groups.size, bytes, scales);
    if (kind == 2) quantized_kernels().unpack_groups(weights, count, matrix.layout_, bytes, scales);
    if (kind > 0) weights = bytes;
    quantized_kernels().dot_tiles[kind][planes - 1]({.tiles = tiles,
                                                     .x = values + k / kBlock * tiles * tile_bytes(),
                                                     .x_stride = tile_bytes(),
                                                     .x_scales = groups.scales + group,
                                                     .x_sums = groups.sums + group,
                                                     .x_starts = groups.starts + group,
                                                     .groups_stride = groups.count * tile_rows,
                                                     .k = count,
                                                     .group = groups.size,
                                                     .weights = weights,
                                                     .scales = kind > 0 ? scales : nullptr,
                                                     .y = sums,
                                                     .next = next,
                                                     .next_bytes = matrix.offset_of(kBlock)});
  }
};

void PackedMatrix::multiply_integers(const ProductArgs& args, int planes) const {
  thread_local Scratch scratch;
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, packed_in_));
  if (args.rows <= kMaxSmallBatch) {
    FewIntegers rows(*this, args, planes, scratch);
    parallel_for_raw(0, args.rows, grain, FewIntegers::round_rows, &rows);
    for_each_panel(FewIntegers::run, &rows);
  } else {
    ManyIntegers rows(*this, args, planes, scratch);
    parallel_for_raw(0, rows.tiles, ceil_div(grain, rows.tile_rows), ManyIntegers::round_tiles, &rows);
    for_each_panel(ManyIntegers::run, &rows);
  }
}

}  // namespace weft::kernels
