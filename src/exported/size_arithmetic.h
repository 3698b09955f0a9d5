// Whole numbers as programs compute with sizes.
#pragma once

#include <cstdint>
#include <optional>

namespace weft::exported {

// As Python's on ints; comparisons give 1 or 0.
enum class SizeOperation : uint8_t {
  Add,
  Subtract,
  Multiply,
  Power,
  FloorDivide,
  Remainder,
  Max,
  Min,
  Equal,
  NotEqual,
  AtMost,
  AtLeast,
  Less,
  More,
};

// nullopt where there is no result, or integers do not hold it.
std::optional<int64_t> computed(SizeOperation operation, int64_t a, int64_t b);

}  // namespace weft::exported
