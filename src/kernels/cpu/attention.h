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
};

// A query that sees no key gives zeros. The result does not depend on the number of threads. Of bfloat16
// operands the machine's engine takes both products, where it has one.
void attention(const AttentionShape& shape, std::span<const AttentionHead> heads);
struct BFloat16Kernels;
void attention_bfloat16(const BFloat16Kernels& engine, const AttentionShape& shape,
                        std::span<const AttentionHead> heads);

}  // namespace weft::kernels
