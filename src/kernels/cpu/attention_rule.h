// What attention over a cache does to queries, keys and scores beside the products.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels/cpu/cached_attention_kernels.h"

namespace weft::kernels {

struct AttentionRule {
  const float* rope;  // [positions][rotary_dim / 2][2]: cos, sin; null where rotary_dim is 0
  float scale;
  std::optional<int64_t> sliding_window;  // positions seen, the token's own included
  bool rope_interleaved;
  int64_t rotary_dim;                           // a head's first elements, which turn; even
  std::optional<int64_t> chunk = std::nullopt;  // positions are seen within their chunk only
  float soft_cap = 0;            // scores become soft_cap * tanh(score / soft_cap); 0: they do not
  const float* sinks = nullptr;  // [heads]: a score that takes weight and adds nothing
  // Queries are multiplied by 1 + temperature * log(1 + floor((position + from) / temperature_positions)).
  float temperature = 0;
  int64_t temperature_positions = 1, temperature_from = 1;
  // Of texts of more positions than long_from, in place of rope; null: there is none.
  const float* long_rope = nullptr;
  int64_t long_from = 0;

  // In a text of so many positions.
  AttentionRule in_text(int64_t positions) const {
    AttentionRule rule = *this;
    if (long_rope != nullptr && positions > long_from) rule.rope = long_rope;
    return rule;
  }
  bool has_plain_scores() const { return soft_cap == 0 && sinks == nullptr; }
  // The first position that one sees.
  int64_t first_seen(int64_t position) const {
    int64_t first = 0;
    if (sliding_window) first = std::max(first, position + 1 - *sliding_window);
    if (chunk) first = std::max(first, position / *chunk * *chunk);
    return first;
  }
  void rotate(const float* x, int64_t position, int64_t head_dim, float* out) const {
    if (rotary_dim > 0)
      cached_attention_kernels().rotate(x, rope + position * rotary_dim, rotary_dim, rope_interleaved, out);
    if (rotary_dim < head_dim) std::copy_n(x + rotary_dim, head_dim - rotary_dim, out + rotary_dim);
  }
  void rotate_query(const float* x, int64_t position, int64_t head_dim, float* out) const {
    rotate(x, position, head_dim, out);
    if (temperature == 0) return;
    const float steps = std::floor(static_cast<float>(position + temperature_from) /
                                   static_cast<float>(temperature_positions)),
                factor = 1 + temperature * std::log1p(steps);
    for (int64_t d = 0; d < head_dim; ++d) out[d] *= factor;
  }
};

}  // namespace weft::kernels
