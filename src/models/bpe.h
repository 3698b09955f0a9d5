// Byte-pair encoding: neighbouring symbols merge, the pair of lowest rank first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::models {

struct BpeMerge {
  int64_t rank;
  int64_t id;  // of the merged symbol
};

// The merge of two neighbouring symbols; null where they do not merge.
using FindMerge = std::function<const BpeMerge*(int64_t left, int64_t right)>;

// Merges until nothing merges; of pairs of equal rank the leftmost first. O(n log n).
std::vector<int64_t> merge_pairs(std::vector<int64_t> symbols, const FindMerge& find_merge);

// Merges by the ids of the two symbols.
class MergeTable {
 public:
  void add(int64_t left, int64_t right, BpeMerge merge) { merges_.emplace(key(left, right), merge); }
  const BpeMerge* find(int64_t left, int64_t right) const {
    const auto found = merges_.find(key(left, right));
    return found == merges_.end() ? nullptr : &found->second;
  }
  size_t size() const { return merges_.size(); }

 private:
  static uint64_t key(int64_t left, int64_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  std::unordered_map<uint64_t, BpeMerge> merges_;
};

}  // namespace weft::models
