#include "kernels/cpu/sort.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kMinChunk = 32768;  // elements that are worth a thread

template <class T>
void sort_chunk(T* values, int64_t count) {
  if constexpr (sizeof(T) == 1) {
    std::array<int64_t, 256> counts{};
    for (int64_t i = 0; i < count; ++i) ++counts[static_cast<uint8_t>(values[i])];
    for (int value = std::numeric_limits<T>::min(); value <= std::numeric_limits<T>::max(); ++value)
      values = std::fill_n(values, counts[static_cast<uint8_t>(value)], static_cast<T>(value));
  } else {
    constexpr int64_t kFew = 16;  // for which the sorter, which draws random numbers first, takes longer
    if (count <= kFew) return std::sort(values, values + count);
    thread_local const hwy::Sorter sorter;
    sorter(values, static_cast<size_t>(count), hwy::SortAscending());
  }
}

// How many of the first `rank` elements of a's and b's union come from a. source: Odeh et al. 2012, Merge
// Path.
template <class T>
int64_t merge_split(const T* a, int64_t size_a, const T* b, int64_t size_b, int64_t rank) {
  int64_t low = std::max<int64_t>(0, rank - size_b), high = std::min(rank, size_a);
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (b[rank - middle - 1] < a[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

template <class T>
void merge_in_parallel(const T* a, int64_t size_a, const T* b, int64_t size_b, T* out) {
  parallel_for(0, size_a + size_b, kMinChunk, [&](int64_t begin, int64_t end) {
    const int64_t a0 = merge_split(a, size_a, b, size_b, begin), a1 = merge_split(a, size_a, b, size_b, end);
    std::merge(a + a0, a + a1, b + (begin - a0), b + (end - a1), out + begin);
  });
}

template <class T>
void sort_on_threads(T* values, int64_t count) {
  const int64_t chunks = sizeof(T) == 1 ? 1 : std::min<int64_t>(get_num_threads(), count / kMinChunk);
  if (chunks < 2 || in_parallel_region()) return sort_chunk(values, count);
  std::vector<int64_t> bounds;
  for (int64_t i = 0; i <= chunks; ++i) bounds.push_back(count * i / chunks);
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      sort_chunk(values + bounds[static_cast<size_t>(i)],
                 bounds[static_cast<size_t>(i) + 1] - bounds[static_cast<size_t>(i)]);
  });
  std::vector<T> scratch(static_cast<size_t>(count));
  T *from = values, *to = scratch.data();
  while (bounds.size() > 2) {
    std::vector<int64_t> merged{0};
    for (size_t i = 0; i + 1 < bounds.size(); i += 2) {
      const int64_t begin = bounds[i], middle = bounds[i + 1],
                    end = bounds[std::min(i + 2, bounds.size() - 1)];
      merge_in_parallel(from + begin, middle - begin, from + middle, end - middle, to + begin);
      merged.push_back(end);
    }
    bounds = std::move(merged);
    std::swap(from, to);
  }
  if (from != values) std::copy_n(from, count, values);
}

// Highway 1.0.3 takes the largest finite number for the end of a chunk, so infinities are sorted as whole
// numbers of the same order.
template <class Bits, class T>
void sort_as_integers(T* values, int64_t count) {
  std::vector<Bits> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    numbers[static_cast<size_t>(i)] = ordered_bits(std::bit_cast<Bits>(values[i]));
  sort_on_threads(numbers.data(), count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = std::bit_cast<T>(ordered_bits(numbers[static_cast<size_t>(i)]));
}

}  // namespace

template <class T>
void sort_numbers(T* values, int64_t count) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    int64_t infinities = 0, negative_zeros = 0;
    for (int64_t i = 0; i < count; ++i) {
      infinities += std::abs(values[i]) > std::numeric_limits<T>::max();
      negative_zeros += std::bit_cast<Bits>(values[i]) == std::numeric_limits<Bits>::min();
    }
    if (infinities > 0) return sort_as_integers<Bits>(values, count);
    sort_on_threads(values, count);
    // Zeros are equal to the sort, which may write one in the place of another.
    const auto [begin, end] = std::equal_range(values, values + count, T(0));
    std::fill(std::fill_n(begin, negative_zeros, -T(0)), end, T(0));
  } else {
    sort_on_threads(values, count);
  }
}

template void sort_numbers(int8_t*, int64_t);
template void sort_numbers(int16_t*, int64_t);
template void sort_numbers(int32_t*, int64_t);
template void sort_numbers(int64_t*, int64_t);
template void sort_numbers(uint8_t*, int64_t);
template void sort_numbers(uint16_t*, int64_t);
template void sort_numbers(uint32_t*, int64_t);
template void sort_numbers(uint64_t*, int64_t);
template void sort_numbers(float*, int64_t);
template void sort_numbers(double*, int64_t);

void sort_positions(const uint64_t* keys, int64_t count, int64_t* positions) {
  const auto before = [&](uint64_t a, uint64_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; };
  uint64_t* const packed = reinterpret_cast<uint64_t*>(positions);
  if (count > int64_t{UINT32_MAX}) {
    std::iota(packed, packed + count, uint64_t{0});
    return std::sort(packed, packed + count, before);
  }
  if (count == 0) return;
  constexpr int64_t kFew = 32;  // for which the sorter takes longer to begin
  if (count <= kFew) {
    for (int64_t i = 0, at; i < count; ++i) {
      for (at = i; at > 0 && keys[i] < keys[positions[at - 1]]; --at) positions[at] = positions[at - 1];
      positions[at] = i;
    }
    return;
  }
  // One number of the key's leading 32 bits, counted from the smallest key, and the position.
  const auto [smallest, largest] = std::minmax_element(keys, keys + count);
  const uint64_t origin = *smallest;
  const int shift = std::max(0, 32 - std::countl_zero(*largest - origin));
  for (int64_t i = 0; i < count; ++i)
    packed[i] = (keys[i] - origin) >> shift << 32 | static_cast<uint64_t>(i);
  sort_on_threads(packed, count);
  // What those bits do not tell apart lies together.
  for (int64_t begin = 0, end; begin < count; begin = end) {
    const uint64_t leading = packed[begin] >> 32;
    for (end = begin; end < count && packed[end] >> 32 == leading; ++end) packed[end] &= UINT32_MAX;
    if (shift > 0 && end - begin > 1) std::sort(packed + begin, packed + end, before);
  }
}

}  // namespace weft::kernels
