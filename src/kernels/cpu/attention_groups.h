// Heads that share keys and values, for kernels that prepare these first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/attention.h"

namespace weft::kernels {

// Heads [begin, end): the first head of each set of keys and values, and which of these each head uses.
struct AttentionGroup {
  size_t begin = 0, end = 0;
  std::vector<size_t> sources;
  std::vector<int64_t> source_of;

  // From `begin` on, with at most `kept` different keys and values.
  AttentionGroup(std::span<const AttentionHead> heads, size_t begin, int64_t kept)
      : begin(begin), end(begin) {
    for (; end < heads.size(); ++end) {
      const bool same =
          end > begin && heads[end].key == heads[end - 1].key && heads[end].value == heads[end - 1].value;
      if (!same && static_cast<int64_t>(sources.size()) == kept) break;
      if (!same) sources.push_back(end);
      source_of.push_back(static_cast<int64_t>(sources.size()) - 1);
    }
  }
};

// Packed keys and values that are kept at once, in bytes.
inline constexpr int64_t kPackedAttentionBytes = 64 << 20;

}  // namespace weft::kernels
