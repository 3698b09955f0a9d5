// Sums that the compiler can vectorize: sixteen running sums, added up in blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft::kernels {

// The sum of term(x[i]) for i < count. Blocks of a few thousand terms in T, their sums in double.
template <class T, class Term>
double vector_sum(const T* x, int64_t count, Term term) {
  constexpr int64_t kLanes = 16, kBlock = 4096;
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    std::array<T, kLanes> lanes{};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[static_cast<size_t>(lane)] += term(x[i + lane]);
    }
    for (; i < end; ++i) lanes[static_cast<size_t>(i % kLanes)] += term(x[i]);
    for (const T lane : lanes) total += static_cast<double>(lane);
  }
  return total;
}

}  // namespace weft::kernels
