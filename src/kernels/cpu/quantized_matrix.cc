// Products of float32 rows with packed weights: few rows, where each thread streams its part of the weights
// once, and many, for which weights are expanded to float32 a block at a time.
#include "kernels/cpu/quantized_matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/bfloat16_kernels.h"
#include "weft/detail/visit_dtype.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr int64_t kExpanded = 256;  // inputs whose weights are expanded at once

template <class T>
void convert_rows(const T* from, int64_t from_stride, int64_t rows, int64_t columns, int64_t padded,
                  float* to, int64_t to_stride) {
  for (int64_t i = 0; i < rows; ++i, from += from_stride, to += to_stride) {
    for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<float>(from[j]);
    std::fill(to + columns, to + padded, 0.0f);
  }
}

template <class T>
void round_row(const float* from, int64_t columns, T* to) {
  for (int64_t j = 0; j < columns; ++j) to[j] = T(from[j]);
}

void advance(RowsView& view, int64_t rows) {
  if (view.data) view.data = static_cast<std::byte*>(view.data) + rows * view.stride * itemsize(view.dtype);
}

ProductArgs rows_of(const ProductArgs& args, int64_t first, int64_t rows) {
  ProductArgs part = args;
  part.rows = rows;
  advance(part.x, first), advance(part.y, first), advance(part.residual, first);
  return part;
}

}  // namespace

void to_floats(const RowsView& x, int64_t first, int64_t rows, int64_t column, int64_t columns,
               int64_t padded, float* to, int64_t to_stride) {
  const int64_t start = first * x.stride + column;
  if (x.dtype == DType::F16)
    return convert_rows(static_cast<const Half*>(x.data) + start, x.stride, rows, columns, padded, to,
                        to_stride);
  if (x.dtype == DType::BF16)
    return convert_rows(static_cast<const BFloat16*>(x.data) + start, x.stride, rows, columns, padded, to,
                        to_stride);
  convert_rows(static_cast<const float*>(x.data) + start, x.stride, rows, columns, padded, to, to_stride);
}

int64_t PackedMatrix::offset_of(int64_t k) const {
  switch (format_) {
    case WeightFormat::F32: return k * kPanel * 4;
    case WeightFormat::F16:
    case WeightFormat::BF16: return k * kPanel * 2;
    case WeightFormat::Int8: return k * kPanel;
    case WeightFormat::Int4: return k / group_ * 4 * kPanel + k / 2 * kPanel;
    case WeightFormat::Groups: return k / layout_.block * block_bytes();
  }
  return 0;
}

int64_t PackedMatrix::block_bytes() const {
  return layout_.block_head + layout_.block / layout_.group * layout_.group_bytes;
}

const uint8_t* PackedMatrix::next_block(int64_t first, int64_t index, int64_t panels, int64_t k,
                                        int64_t step) const {
  if (index + 1 < panels) return panel(first + index + 1) + offset_of(k);
  if (k + step < packed_in_) return panel(first) + offset_of(k + step);
  return panel(std::min(first + panels, panels_ - 1));
}

InputPrecision PackedMatrix::resolved(InputPrecision precision) const {
  if (precision != InputPrecision::Weights) return precision;
  return format_ == WeightFormat::BF16 ? InputPrecision::BFloat16 : InputPrecision::Auto;
}

int PackedMatrix::planes(InputPrecision precision) const {
  if (format_ == WeightFormat::Groups && layout_.values != GroupValues::Integers) return 0;
  if (format_ != WeightFormat::Int8 && format_ != WeightFormat::Int4 && format_ != WeightFormat::Groups)
    return 0;
  switch (resolved(precision)) {
    case InputPrecision::BFloat16:
    case InputPrecision::Auto: return quantized_kernels().has_dot ? 2 : 0;
    case InputPrecision::Float32: return 0;
    case InputPrecision::Int16: return 2;
    case InputPrecision::Int8: return 1;
    case InputPrecision::Weights: break;
  }
  return 0;
}

// Each sum of floats has one order of its terms; but for many rows int4's scale enters weight by weight, and
// not group by group. On an engine, rows are rounded, or taken in parts (parts_for()).
int64_t PackedMatrix::independent_rows(InputPrecision precision, DType input) const {
  const BFloat16Kernels* const engine = bfloat16_kernels();
  const bool halves = format_ == WeightFormat::BF16,
             quantized = format_ == WeightFormat::Int8 || format_ == WeightFormat::Int4,
             has_tiles = engine && engine->has_tiles;
  bool may_round = false;
  switch (resolved(precision)) {
    case InputPrecision::BFloat16: may_round = (engine && halves) || (quantized && has_tiles); break;
    case InputPrecision::Auto:
      may_round = ((halves || quantized) && has_tiles) || (engine && halves && input == DType::BF16);
      break;
    case InputPrecision::Int8: may_round = quantized && has_tiles; break;
    default: break;
  }
  const bool expands = format_ == WeightFormat::Int4 && planes(precision) == 0;
  return may_round || expands ? kFewRows : INT64_MAX;
}

void PackedMatrix::multiply(const ProductArgs& args) const {
  const int planes = this->planes(args.precision);
  const BFloat16Kernels* const engine = bfloat16_kernels();
  const BFloat16Parts parts = engine ? parts_for(args, *engine) : BFloat16Parts{0, 0};
  const bool on_engine = parts.inputs > 0;
  const int64_t most = on_engine && engine->has_tiles       ? kManyRowsOfTiles
                       : planes > 0 || args.rows > kFewRows ? kManyRows
                                                            : kFewRows;
  for (int64_t first = 0; first < args.rows; first += most) {
    const ProductArgs part = rows_of(args, first, std::min(most, args.rows - first));
    if (on_engine)
      multiply_bfloat16(part, *engine, parts);
    else if (planes > 0)
      multiply_integers(part, planes);
    else if (most == kManyRows || format_ == WeightFormat::Groups)
      multiply_many(part);
    else
      multiply_few(part);
  }
}

void PackedMatrix::for_each_panel(RangeFn body, void* context) const {
  constexpr int64_t kGrainBytes = 128 << 10;
  parallel_for_raw(0, panels_, std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, panel_bytes_)), body,
                   context);
}

// ---- few rows ----------------------------------------------------------------------------------
// Inputs in float32, with zeros for those that were added to fill the last group.
struct PackedMatrix::Floats {
  const float* x;
  int64_t stride;
  const float* sums;  // Int4: of each group
  int64_t sums_stride;
};

// What a region needs, by reference: a std::function would allocate.
struct PackedMatrix::FewRows {
  const PackedMatrix& matrix;
  const ProductArgs& args;
  const Floats& x;

  static void run(void* context, int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) static_cast<const FewRows*>(context)->run_panel(panel);
  }

  void run_panel(int64_t panel) const {
    const QuantizedKernels& kernels = quantized_kernels();
    alignas(64) float sums[kFewRows * kPanel];
    const PanelFn* const multiply = kernels.multiply[static_cast<int>(matrix.format_)];
    for (int64_t first = 0; first < args.rows; first += kernels.max_rows) {
      const int64_t rows = std::min<int64_t>(kernels.max_rows, args.rows - first);
      multiply[rows]({.x = x.x + first * x.stride,
                      .x_stride = x.stride,
                      .k = matrix.packed_in_,
                      .weights = matrix.panel(panel),
                      .group = matrix.group_,
                      .x_sums = x.sums + first * x.sums_stride,
                      .sums_stride = x.sums_stride,
                      .y = sums + first * kPanel});
    }
    matrix.finish(args, panel, 1, sums, 0);
  }
};

void PackedMatrix::multiply_few(const ProductArgs& args) const {
  thread_local Scratch scratch;
  const int64_t groups = format_ == WeightFormat::Int4 ? packed_in_ / group_ : 0;
  const bool copy = args.x.dtype != DType::F32 || packed_in_ != in_;
  float* const sums = scratch.floats(args.rows * (groups + (copy ? packed_in_ : 0)) + 1);
  Floats x{static_cast<const float*>(args.x.data), args.x.stride, sums, groups};
  if (copy) {
    float* const padded = sums + args.rows * groups;
    to_floats(args.x, 0, args.rows, 0, in_, packed_in_, padded, packed_in_);
    x.x = padded, x.stride = packed_in_;
  }
  for (int64_t i = 0; i < args.rows * groups; ++i) {
    const float* const from = x.x + i / groups * x.stride + i % groups * group_;
    sums[i] = 0;
    for (int64_t k = 0; k < group_; ++k) sums[i] += from[k];
  }
  FewRows batch{*this, args, x};
  for_each_panel(FewRows::run, &batch);
}

// ---- many rows ---------------------------------------------------------------------------------
// x as [blocks of kExpanded inputs][tiles][kExpanded][tile_rows].
struct PackedMatrix::ManyRows {
  const PackedMatrix& matrix;
  const ProductArgs& args;
  const int64_t tile_rows, tiles;
  float* x;

  ManyRows(const PackedMatrix& matrix, const ProductArgs& args, Scratch& scratch)
      : matrix(matrix),
        args(args),
        tile_rows(quantized_kernels().tile_rows),
        tiles((args.rows + tile_rows - 1) / tile_rows) {
    const int64_t blocks = (matrix.packed_in_ + kExpanded - 1) / kExpanded;
    x = scratch.floats(blocks * tiles * tile_rows * kExpanded);
  }

  static void pack(void* context, int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) static_cast<const ManyRows*>(context)->pack_tile(tile);
  }
  void pack_tile(int64_t tile) const {
    alignas(64) float row[kExpanded];
    for (int64_t k = 0; k < matrix.packed_in_; k += kExpanded) {
      const int64_t count = std::min(kExpanded, matrix.packed_in_ - k);
      float* const to = x + (k * tiles + tile * kExpanded) * tile_rows;
      for (int64_t line = 0; line < tile_rows; ++line) {
        // Past the last row, it once more: the sums are not used.
        const int64_t i = std::min(tile * tile_rows + line, args.rows - 1);
        to_floats(args.x, i, 1, k, std::min(count, matrix.in_ - k), count, row, kExpanded);
        for (int64_t j = 0; j < count; ++j) to[j * tile_rows + line] = row[j];
      }
    }
  }

  static void run(void* context, int64_t begin, int64_t end) {
    thread_local Scratch scratch;
    const ManyRows& self = *static_cast<const ManyRows*>(context);
    // Of groups, their bytes and scales as well.
    const int64_t unpacked = self.matrix.format_ == WeightFormat::Groups
                                 ? kExpanded * kPanel / 4 + kExpanded / self.matrix.group_ * 2 * kPanel
                                 : 0;
    float* const weights = scratch.floats(kExpanded * kPanel + kPanelsAtOnce * self.panel_sums() + unpacked);
    for (int64_t panel = begin; panel < end; panel += kPanelsAtOnce)
      self.run_panels(panel, std::min(kPanelsAtOnce, end - panel), weights, weights + kExpanded * kPanel);
  }
  int64_t panel_sums() const { return tiles * tile_rows * kPanel; }

  // unpacked: room for bytes and scales of groups
  void expand(const uint8_t* from, int64_t count, float* to, float* unpacked) const {
    const QuantizedKernels& kernels = quantized_kernels();
    if (matrix.format_ != WeightFormat::Groups)
      return kernels.expand[static_cast<int>(matrix.format_)](from, count, matrix.group_, to);
    auto* const bytes = reinterpret_cast<uint8_t*>(unpacked);
    float* const scales = unpacked + kExpanded * kPanel / 4;
    kernels.unpack_groups(from, count, matrix.layout_, bytes, scales);
    kernels.expand_groups(bytes, scales, count, matrix.layout_, to);
  }

  // sums: [panels][rows][64], and behind them what expand() needs
  void run_panels(int64_t first, int64_t panels, float* weights, float* sums) const {
    const QuantizedKernels& kernels = quantized_kernels();
    std::fill(sums, sums + panels * panel_sums(), 0.0f);
    for (int64_t k = 0; k < matrix.packed_in_; k += kExpanded) {
      const int64_t count = std::min(kExpanded, matrix.packed_in_ - k);
      for (int64_t i = 0; i < panels; ++i) {
        expand(matrix.panel(first + i) + matrix.offset_of(k), count, weights, sums + panels * panel_sums());
        kernels.multiply_tiles({.tiles = tiles,
                                .x = x + k * tiles * tile_rows,
                                .x_stride = kExpanded * tile_rows,
                                .k = count,
                                .weights = weights,
                                .y = sums + i * panel_sums(),
                                .next = matrix.next_block(first, i, panels, k, kExpanded),
                                .next_bytes = matrix.offset_of(kExpanded)});
      }
    }
    matrix.finish(args, first, panels, sums, panel_sums());
  }
};

void PackedMatrix::multiply_many(const ProductArgs& args) const {
  thread_local Scratch scratch;
  ManyRows batch(*this, args, scratch);
  const int64_t grain = 16384 / std::max<int64_t>(1, packed_in_ * batch.tile_rows);
  parallel_for_raw(0, batch.tiles, std::max<int64_t>(1, grain), ManyRows::pack, &batch);
  for_each_panel(ManyRows::run, &batch);
}

// ---- what follows ------------------------------------------------------------------------------
void PackedMatrix::finish(const ProductArgs& args, int64_t first, int64_t panels, const float* sums,
                          int64_t sums_stride) const {
  const int64_t width = gated_ ? kPanel / 2 : kPanel, column = first * width;
  FinishArgs finish{.rows = args.rows,
                    .columns = std::min(panels * width, out() - column),
                    .gated = gated_,
                    .activation = args.activation,
                    .sums = sums,
                    .sums_stride = sums_stride,
                    .scales = scales_.data() ? scales_.data() + first * kPanel : nullptr,
                    .bias = bias_.data() ? bias_.data() + first * kPanel : nullptr,
                    .residual = nullptr,
                    .residual_stride = args.residual.stride,
                    .y = nullptr,
                    .y_stride = args.y.stride};
  if (args.y.dtype == DType::F32) {
    if (args.residual.data) finish.residual = static_cast<const float*>(args.residual.data) + column;
    finish.y = static_cast<float*>(args.y.data) + column;
    return quantized_kernels().finish(finish);
  }
  // In float32 row by row, rounded once.
  alignas(64) float residual[kPanelsAtOnce * kPanel], y[kPanelsAtOnce * kPanel];
  finish.rows = 1;
  finish.residual = args.residual.data ? residual : nullptr;
  finish.y = y;
  for (int64_t i = 0; i < args.rows; ++i) {
    if (args.residual.data)
      to_floats(args.residual, i, 1, column, finish.columns, finish.columns, residual, finish.columns);
    finish.sums = sums + i * kPanel;
    quantized_kernels().finish(finish);
    const int64_t at = i * args.y.stride + column;
    if (args.y.dtype == DType::F16)
      round_row(y, finish.columns, static_cast<Half*>(args.y.data) + at);
    else
      round_row(y, finish.columns, static_cast<BFloat16*>(args.y.data) + at);
  }
}

}  // namespace weft::kernels
