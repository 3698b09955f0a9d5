// What attention over a cache does to queries, keys and scores beside the products.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
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
  // [heads]: what a score loses by each position that its key is away, times slope_scale. Null: nothing.
  const float* slopes = nullptr;
  float slope_scale = 1;
  bool rounds_slopes = false;  // positions, and their products with slopes, are bfloat16
  // [head_dim], of queries and keys that have turned; null: ones.
  const float *query_weights = nullptr, *key_weights = nullptr;
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
  bool has_plain_scores() const { return soft_cap == 0 && sinks == nullptr && slopes == nullptr; }
  // The first position that one sees.
  int64_t first_seen(int64_t position) const {
    int64_t first = 0;
    if (sliding_window) first = std::max(first, position + 1 - *sliding_window);
    if (chunk) first = std::max(first, position / *chunk * *chunk);
    return first;
  }
  void rotate_key(const float* x, int64_t position, int64_t head_dim, float* out) const {
    rotate(x, position, head_dim, out);
    if (key_weights != nullptr)
      for (int64_t d = 0; d < head_dim; ++d) out[d] *= key_weights[d];
  }
  void rotate_query(const float* x, int64_t position, int64_t head_dim, float* out) const {
    rotate(x, position, head_dim, out);
    if (query_weights != nullptr)
      for (int64_t d = 0; d < head_dim; ++d) out[d] *= query_weights[d];
    if (temperature == 0) return;
    const float steps = std::floor(static_cast<float>(position + temperature_from) /
                                   static_cast<float>(temperature_positions)),
                factor = 1 + temperature * std::log1p(steps);
    for (int64_t d = 0; d < head_dim; ++d) out[d] *= factor;
  }
  // What the head's score of the keys at [first, last] gets in a query at `last`, in units of log2.
  void add_slope(int64_t head, int64_t first, int64_t last, float* out) const {
    const auto rounded = [](float x) { return static_cast<float>(BFloat16(x)); };
    const auto product = [&](int64_t position) {
      return rounded(slopes[head] * rounded(static_cast<float>(position)));
    };
    const float factor = slope_scale * std::numbers::log2e_v<float>,
                of_last = rounds_slopes ? product(last) : 0;
    for (int64_t p = first; p <= last; ++p)
      out[p - first] =
          factor * (rounds_slopes ? product(p) - of_last : slopes[head] * static_cast<float>(p - last));
  }

 private:
  void rotate(const float* x, int64_t position, int64_t head_dim, float* out) const {
    if (rotary_dim > 0)
      cached_attention_kernels().rotate(x, rope + position * rotary_dim, rotary_dim, rope_interleaved, out);
    if (rotary_dim < head_dim) std::copy_n(x + rotary_dim, head_dim - rotary_dim, out + rotary_dim);
  }
};

}  // namespace weft::kernels
