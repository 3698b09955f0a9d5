// The innermost part of attention, once per instruction set: one block of queries against all keys of a head.
#pragma once

#include <cstdint>

namespace weft::kernels {

inline constexpr int64_t kAttentionRows = 48;   // queries of a block
inline constexpr int64_t kAttentionKeys = 192;  // keys taken at a time
inline constexpr int64_t kAttentionTile = 6;    // queries of a register tile

// Bool: true takes part. Additive: floats added to the scores.
enum class AttentionMask : uint8_t { None, Bool, Additive };

// Operands are packed: panels of `AttentionKernels::panel` keys, or of as many of the value's columns, filled
// up with zeros. Scores are in units of log2, so that weights are powers of two.
struct AttentionBlock {
  const float* query;   // [tiles][head_dim][kAttentionTile], times scale * log2(e)
  const float* keys;    // [key panels][head_dim][panel]
  const float* values;  // [value panels][padded keys][panel]
  int64_t rows, num_keys, padded_keys, head_dim, value_panels;
  // Row i sees the keys below first_limit + i.
  int64_t first_limit;
  bool causal;
  AttentionMask mask_kind;
  const void* mask;
  int64_t mask_row_stride, mask_column_stride;
  // Keys are the cells of a grid, grid_width in a row: the score of row i and key (y, x) becomes greater by
  // down[i * grid_height + y] + across[i * grid_width + x], in the units of scores. grid_width 0: no grid.
  int64_t grid_height, grid_width;
  const float *down, *across;
  // Written: [kAttentionRows][value_panels * panel], and scratch for [kAttentionRows][kAttentionKeys] scores.
  float* output;
  float* scores;
};

// What is known of a block's rows so far.
struct AttentionRows {
  float maximum[kAttentionRows], sum[kAttentionRows], scale[kAttentionRows];
};

struct AttentionKernels {
  int64_t panel;
  void (*block)(const AttentionBlock& block);
  // The parts of it that are not products, where these are an engine's; `width`: of the output's rows.
  void (*start)(const AttentionBlock& block, int64_t width, AttentionRows& rows);
  // block.scores of keys [first, first + count), before they are scaled, become weights in bfloat16,
  // [rows][kAttentionKeys], `padded` of them; the outputs so far are corrected.
  void (*weigh)(const AttentionBlock& block, int64_t first, int64_t count, int64_t padded, int64_t width,
                float scale, AttentionRows& rows, uint16_t* weights);
  void (*finish_bfloat16)(const AttentionBlock& block, int64_t width, int64_t columns,
                          const AttentionRows& rows, uint16_t* y, int64_t y_stride);
};

extern const AttentionKernels kAttentionBaseline;
// Those of this machine.
const AttentionKernels& attention_kernels();

}  // namespace weft::kernels
