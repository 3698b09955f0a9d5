// Conversions of the 16-bit floating types. Branches are written as selections, so that loops vectorize.
#pragma once

#include <bit>
#include <cstdint>

#include "weft/dtype.h"

namespace weft {

// Below 2^-14 the result is subnormal: adding 0.5 puts its unit at the float's last place, so that the
// addition itself rounds. Above, the exponent is rebiased and the 13 dropped bits round to nearest even.
inline Half::Half(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = word & 0x7fffffffu;
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  const uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // 65520 and above round to infinity
  result = magnitude > 0x7f800000u ? nan : result;
  bits = static_cast<uint16_t>(result | ((word >> 16) & 0x8000u));
}

// The bits, read as a float's, are the value times 2^-112: the product is exact, for subnormals too.
inline Half::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const uint32_t result = magnitude >= 0x0f800000u ? (magnitude | 0x7f800000u) : finite;
  return std::bit_cast<float>(sign | result);
}

inline BFloat16::BFloat16(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  const uint32_t nan = (word >> 16) | 0x40u;
  bits = static_cast<uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

inline BFloat16::operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace weft
