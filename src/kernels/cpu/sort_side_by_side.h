// Sorting of many short runs at once: as many of them as vectors have lanes lie side by side, and the same
// exchanges sort them all. source: Batcher 1968, odd-even merging.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::kernels {

// Runs that lie side by side.
template <class Key>
constexpr int64_t kSideBySide = 64 / static_cast<int64_t>(sizeof(Key));
// From here on sorting one after the other is faster.
template <class Key>
constexpr int64_t kLongestSideBySide = sizeof(Key) == 8 ? 256 : 512;

// rows [length, kSideBySide]: each column in ascending order.
template <class Key>
void sort_side_by_side(Key* rows, int64_t length) {
  constexpr int64_t kWidth = kSideBySide<Key>;
  for (int64_t merged = 1; merged < length; merged *= 2) {
    for (int64_t distance = merged; distance >= 1; distance /= 2) {
      for (int64_t j = distance % merged; j + distance < length; j += 2 * distance) {
        if (distance < merged && j % (2 * merged) == 2 * merged - distance) continue;  // of two merges
        const int64_t count = std::min(distance, length - distance - j) * kWidth;
        Key* const low = rows + j * kWidth;
        Key* const high = low + distance * kWidth;
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) {
          const Key a = low[i], b = high[i];
          low[i] = a < b ? a : b;
          high[i] = a < b ? b : a;
        }
      }
    }
  }
}

}  // namespace weft::kernels
