// The gated delta rule, as kernel and in tensor functions: see DeltaRule.
// source: torch_recurrent_gated_delta_rule and Qwen3NextGatedDeltaNet of transformers.
#pragma once

#include <cstdint>
#include <functional>

#include "models/decoder_weights.h"

namespace weft::models {

// Rows of texts, those of one in order.
struct DeltaRows {
  int64_t count;
  const float* mixed;  // [count, channels]: queries, keys and values, convolved and activated
  const float* rates;  // [count, 2 value_heads]: what beta comes from, and what the decay does
  const float* gates;  // the first of values() numbers of each row,
  int64_t gate_stride;
  float* out;                                 // [count, values()]
  std::function<float*(int64_t row)> state;   // float32 [value_heads, key_dim, value_dim] of the row's text,
  std::function<bool(int64_t row)> is_first;  // which begins with this row
};
// out = norm of what heads give, times silu(gates); states are those behind the rows then.
void run_delta_rule(const DeltaRule& rule, const DecoderLayer& layer, double eps, const DeltaRows& rows);

// The same of one text: [tokens, values()]. `state` is [value_heads, key_dim, value_dim].
Tensor delta_functions(const DeltaRule& rule, const DecoderLayer& layer, double eps, const Tensor& mixed,
                       const Tensor& rates, const Tensor& gates, Tensor& state, bool is_first);

}  // namespace weft::models
