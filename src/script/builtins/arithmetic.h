// Python's arithmetic on 64-bit integers, which wrap, and on floats.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "weft/error.h"

namespace weft::jit {

[[noreturn]] void zero_division(const char* message);

inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Rounds towards minus infinity; the remainder has the divisor's sign.
inline int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) [[unlikely]]
    zero_division("integer division or modulo by zero");
  if (b == -1) return wrapping_sub(0, a);
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}
inline int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0) [[unlikely]]
    zero_division("integer division or modulo by zero");
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
// Of floats a division by zero is infinite or NaN, as PyTorch has it.
inline double true_div(double a, double b) { return a / b; }
double floor_mod(double a, double b);
double floor_div(double a, double b);

}  // namespace weft::jit
