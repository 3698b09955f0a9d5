#include "models/bpe.h"

#include <queue>
#include <tuple>

namespace weft::models {
namespace {

struct Symbol {
  int64_t id;
  int64_t previous, next;  // positions; -1: none
};
struct Candidate {
  int64_t rank;
  int64_t position;  // of the left symbol
  int64_t left, right, merged;
  bool operator>(const Candidate& other) const {
    return std::tie(rank, position) > std::tie(other.rank, other.position);
  }
};

}  // namespace

std::vector<int64_t> merge_pairs(std::vector<int64_t> ids, const FindMerge& find_merge) {
  const int64_t count = static_cast<int64_t>(ids.size());
  std::vector<Symbol> symbols(ids.size());
  for (int64_t i = 0; i < count; ++i) symbols[i] = {ids[i], i - 1, i + 1 < count ? i + 1 : -1};
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](int64_t position) {
    if (position < 0 || symbols[position].next < 0) return;
    const int64_t left = symbols[position].id, right = symbols[symbols[position].next].id;
    if (const BpeMerge* merge = find_merge(left, right))
      candidates.push({merge->rank, position, left, right, merge->id});
  };
  for (int64_t i = 0; i + 1 < count; ++i) consider(i);
  constexpr int64_t kGone = -1;
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Symbol& left = symbols[best.position];
    // One of the two has merged with another neighbour since.
    if (left.id != best.left || left.next < 0 || symbols[left.next].id != best.right) continue;
    Symbol& right = symbols[left.next];
    left.id = best.merged;
    right.id = kGone;
    left.next = right.next;
    if (left.next >= 0) symbols[left.next].previous = best.position;
    consider(left.previous);
    consider(best.position);
  }
  std::vector<int64_t> result;
  for (int64_t i = count == 0 ? -1 : 0; i >= 0; i = symbols[i].next) result.push_back(symbols[i].id);
  return result;
}

}  // namespace weft::models
