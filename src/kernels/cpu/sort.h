// Sorting of numbers in memory, on several threads where that pays. The vectorized sort is Highway's.
#pragma once

#include <cstdint>
#include <limits>

namespace weft::kernels {

// The bits of a floating-point number, signed, as a whole number of the same order: what is negative counts
// backwards. The same step leads back.
template <class Bits>
constexpr Bits ordered_bits(Bits bits) {
  return static_cast<Bits>(bits ^ ((bits >> (8 * sizeof(Bits) - 1)) & std::numeric_limits<Bits>::max()));
}

// Ascending, in place; -0.0 before 0.0. There must be no NaN among them.
// T: int8_t to int64_t, uint8_t to uint64_t, float, double.
template <class T>
void sort_numbers(T* values, int64_t count);

// The positions 0 to count - 1 in the order of their keys; equal keys keep their order.
void sort_positions(const uint64_t* keys, int64_t count, int64_t* positions);

}  // namespace weft::kernels
