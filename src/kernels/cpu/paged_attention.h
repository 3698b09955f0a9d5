// Attention of rows that belong to several texts, whose keys and values lie in pages of one cache: rotary
// positions, the write into the cache, and the softmax over what each row sees. What a row gives does not
// depend on the rows beside it, nor on where its pages lie, nor on the number of threads.
#pragma once

#include <cstdint>

#include "kernels/cpu/attention_rule.h"
#include "weft/dtype.h"

namespace weft::kernels {

// A token at `position` of a text, whose positions [i * page_positions, (i + 1) * page_positions) lie in the
// page pages[i].
struct PagedRow {
  const int32_t* pages;
  int64_t position;
  int64_t text = 0;  // positions that its text has with this step's rows
};

struct PagedAttention {
  const float* qkv;   // [rows][(heads + 2 * kv_heads) * head_dim]: queries' heads, then keys, then values
  void* key_cache;    // [kv_heads][pages][page_positions] rows of head_dim numbers of `dtype`
  void* value_cache;
  DType dtype;           // F32, F16, BF16 or I8, whose rows have scales: cached_elements.h
  const PagedRow* rows;  // no two write to one position of a page
  int64_t row_count, heads, kv_heads, head_dim, pages, page_positions;
  AttentionRule rule;
  float* output;  // [rows][heads * head_dim]
};

void attention_over_pages(const PagedAttention& call);

}  // namespace weft::kernels
