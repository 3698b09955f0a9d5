// The innermost part of attention over a cache of keys and values, once per instruction set: a few queries of
// one head group against all positions.
#pragma once

#include <cstdint>

#include "weft/dtype.h"

namespace weft::kernels {

// Queries that share keys and values: rows of `head_dim` elements, so many elements apart.
struct CachedQueries {
  const float* queries;  // [count][head_dim]
  int64_t count, head_dim;
  const void* keys;  // [positions][head_dim] of the cache's dtype
  const void* values;
  int64_t key_stride, value_stride, positions;
  float scale;
  // In units of log2, added to scores: [positions] of each query, bias_stride behind the one before (0: one
  // for all). Null: nothing. -inf: unseen.
  const float* bias;
  float* scores;  // scratch, [count][positions]
  float* output;  // [count][head_dim]; zeros where no position is seen
  // Where positions lie in pages: page i of the text from keys + pages[i] * page_stride on, its positions
  // key_stride apart, the first of `positions` being `first`. Null: they lie one after another.
  const int32_t* pages = nullptr;
  int64_t page_positions = 0, page_stride = 0, first = 0;
  float soft_cap = 0;            // of scores, see AttentionRule
  const float* sinks = nullptr;  // [count]
  int64_t bias_stride = 0;
};

struct CachedAttentionKernels {
  // Turns pairs of x by the angles of one position. table: cos and sin by turns, [head_dim / 2][2].
  void (*rotate)(const float* x, const float* table, int64_t head_dim, bool interleaved, float* out);
  void (*attend_f32)(const CachedQueries& call);
  void (*attend_f16)(const CachedQueries& call);
  void (*attend_bf16)(const CachedQueries& call);
  void (*attend_i8)(const CachedQueries& call);  // rows with a scale behind them: cached_elements.h
};

// This processor's.
const CachedAttentionKernels& cached_attention_kernels();

extern const CachedAttentionKernels kCachedAttentionBaseline;

}  // namespace weft::kernels
