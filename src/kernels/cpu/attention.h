// softmax(scale * query key^T + mask) value, without the matrix of scores: keys are taken block by block, and
// each row's maximum and sum are corrected as they grow (Milakov and Gimelshein 2018; Dao et al. 2022).
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/attention_kernels.h"
#include "weft/dtype.h"

namespace weft::kernels {

// What one head reads and writes. Heads that follow one another with the same keys and values (grouped
// queries) share their preparation.
struct AttentionHead {
  const void *query, *key, *value;
  const void* mask;  // bool or float
  void* output;
  const void *down = nullptr, *across = nullptr;  // relative positions, where the keys are a grid
};

// What all heads of a call have in common. Rows of the operands are dense; strides are those of rows, in
// elements.
struct AttentionShape {
  DType dtype;  // F32, F16 or BF16; scores, weights and sums are float
  int64_t queries, keys, head_dim, value_dim;
  int64_t query_stride, key_stride, value_stride, output_stride;
  float scale;
  // Query i sees the keys 0 … i + causal_offset.
  bool causal = false;
  int64_t causal_offset = 0;
  AttentionMask mask = AttentionMask::None;
  int64_t mask_row_stride = 0, mask_column_stride = 0;  // zero: broadcast
  // Keys are the cells of a grid: what each query's score gains by the key's row and by its column stands in
  // the head's down [queries, grid_height] and across [queries, grid_width], of the operands' dtype.
  int64_t grid_height = 0, grid_width = 0;
  int64_t down_stride = 0, across_stride = 0;

  int64_t relative_size() const { return grid_height + grid_width; }
};

// What rows [first, first + rows) gain, in the units of scores, for AttentionBlock: down, then across.
template <class T>
void pack_relative(const AttentionShape& shape, const AttentionHead& head, int64_t first, int64_t rows,
                   float* out) {
  constexpr float kLog2E = 1.44269504088896341f;
  const auto pack = [&](const void* from, int64_t stride, int64_t width) {
    const T* row = static_cast<const T*>(from) + first * stride;
    for (int64_t i = 0; i < rows; ++i, row += stride, out += width)
      for (int64_t j = 0; j < width; ++j) out[j] = static_cast<float>(row[j]) * kLog2E;
  };
  pack(head.down, shape.down_stride, shape.grid_height);
  pack(head.across, shape.across_stride, shape.grid_width);
}

// A query that sees no key gives zeros. The result does not depend on the number of threads. Of bfloat16
// operands the machine's engine takes both products, where it has one.
void attention(const AttentionShape& shape, std::span<const AttentionHead> heads);
struct BFloat16Kernels;
void attention_bfloat16(const BFloat16Kernels& engine, const AttentionShape& shape,
                        std::span<const AttentionHead> heads);
// Few queries, as when text is generated: keys and values are read where they lie, and only those that a
// query sees. `attends_where_they_lie`: whether this pays, and the shape allows it.
bool attends_where_they_lie(const AttentionShape& shape, std::span<const AttentionHead> heads);
void attention_where_they_lie(const AttentionShape& shape, std::span<const AttentionHead> heads);

}  // namespace weft::kernels
