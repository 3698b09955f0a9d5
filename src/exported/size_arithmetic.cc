#include "exported/size_arithmetic.h"

#include <algorithm>
#include <limits>

namespace weft::exported {
namespace {

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

std::optional<int64_t> whole_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
    if (result == 0 || (base == 1)) return result;
    if (base == -1) return exponent % 2 ? -1 : 1;
  }
  return result;
}

}  // namespace

std::optional<int64_t> computed(SizeOperation operation, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (operation) {
    case SizeOperation::Add:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case SizeOperation::Subtract:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case SizeOperation::Multiply:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case SizeOperation::Power: return whole_power(a, b);
    case SizeOperation::FloorDivide:
    case SizeOperation::Remainder:
      if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return std::nullopt;
      return operation == SizeOperation::FloorDivide ? floor_quotient(a, b) : a - floor_quotient(a, b) * b;
    case SizeOperation::Max: return std::max(a, b);
    case SizeOperation::Min: return std::min(a, b);
    case SizeOperation::Equal: return a == b;
    case SizeOperation::NotEqual: return a != b;
    case SizeOperation::AtMost: return a <= b;
    case SizeOperation::AtLeast: return a >= b;
    case SizeOperation::Less: return a < b;
    case SizeOperation::More: return a > b;
  }
  return std::nullopt;
}

}  // namespace weft::exported
