// Attention of new tokens over a cache of keys and values: rotary positions, the write into the cache, and
// the softmax over what the cache holds, in one pass over it.
#pragma once

#include <cstdint>

#include "kernels/cpu/attention_rule.h"
#include "weft/dtype.h"

namespace weft::kernels {

struct CachedAttention {
  const float*
      qkv;  // [tokens][(heads + 2 * kv_heads) * head_dim], the queries' heads first, then keys, then values
  void* key_cache;  // [kv_heads][capacity] rows of head_dim numbers of `dtype`
  void* value_cache;
  DType dtype;  // F32, F16, BF16 or I8, whose rows have scales: cached_elements.h
  int64_t tokens, heads, kv_heads, head_dim, capacity;
  int64_t position;  // of the first token
  AttentionRule rule;
  float* output;  // [tokens][heads * head_dim]
  // Queries of many tokens, keys and values may be rounded to bfloat16 where an engine multiplies it; the
  // cache is written as it is without.
  bool may_round = false;
};

void attention_with_kv_cache(const CachedAttention& call);

}  // namespace weft::kernels
