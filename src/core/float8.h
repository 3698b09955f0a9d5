// Floating-point numbers of eight bits, as elements of tensors: converted, and nothing else.
//
// source: "FP8 Formats for Deep Learning" (Micikevicius et al. 2022) for e4m3fn and e5m2; "8-bit Numerical
// Formats for Deep Neural Networks" (Noune et al. 2022) for the variants without negative zero (fnuz); the
// OCP microscaling formats for e8m0fnu, powers of two.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace weft {

// What numbers beyond the largest one become; infinity, too.
enum class Beyond : uint8_t { Infinity, NaN, Largest };

// kBias: of the exponent. kHasNegativeZero: where not, its bits are the only NaN.
template <int kFraction, int kBias, Beyond kBeyond, bool kHasNegativeZero>
struct Float8 {
  uint8_t bits = 0;
  Float8() = default;

  explicit Float8(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value), sign = word >> 31;
    const uint32_t magnitude = rounded(word & 0x7fffffffU);
    if constexpr (kHasNegativeZero)
      bits = static_cast<uint8_t>(magnitude | sign << 7);
    else
      bits = static_cast<uint8_t>(magnitude == 0 || magnitude == 0x80 ? magnitude : magnitude | sign << 7);
  }

  explicit operator float() const {
    if (!kHasNegativeZero && bits == 0x80) return std::bit_cast<float>(0x7f800001U);
    const uint32_t magnitude = bits & 0x7fU, exponent = magnitude >> kFraction,
                   fraction = magnitude & ((1U << kFraction) - 1);
    float value;
    if (kHasNegativeZero && magnitude >= kSpecial) {
      if (kBeyond != Beyond::Infinity || magnitude > kSpecial)
        return std::bit_cast<float>((bits & 0x80U) << 24 | 0x7fc00000U | fraction << (23 - kFraction));
      value = std::numeric_limits<float>::infinity();
    } else if (exponent == 0) {
      value = std::ldexp(static_cast<float>(fraction), 1 - kBias - kFraction);
    } else {
      value = std::ldexp(static_cast<float>(fraction | 1U << kFraction),
                         static_cast<int>(exponent) - kBias - kFraction);
    }
    return bits & 0x80U ? -value : value;
  }

 private:
  // The first magnitude that is no number.
  static constexpr uint32_t kSpecial = !kHasNegativeZero             ? 0x80U
                                       : kBeyond == Beyond::Infinity ? 0x7fU >> kFraction << kFraction
                                                                     : 0x7fU;
  // To nearest, ties to even, of a magnitude's float bits.
  static uint32_t rounded(uint32_t word) {
    constexpr uint32_t kNaN = kHasNegativeZero ? 0x7fU : 0x80U;
    if (word > 0x7f800000U) return kNaN;
    constexpr int kDropped = 23 - kFraction;
    uint32_t result;
    if (static_cast<int>(word >> 23) - 127 < 1 - kBias) {
      // Subnormal: the number of units, whose last place the addition rounds to.
      const float unit = std::ldexp(1.0F, 1 - kBias - kFraction);
      result = static_cast<uint32_t>(std::nearbyint(std::bit_cast<float>(word) / unit));
    } else {
      const uint32_t even = word >> kDropped & 1U;
      result = ((word + (1U << (kDropped - 1)) - 1 + even) >> kDropped) -
               (static_cast<uint32_t>(127 - kBias) << kFraction);
    }
    if (result < kSpecial) return result;
    return kBeyond == Beyond::Infinity ? kSpecial : kBeyond == Beyond::Largest ? kSpecial - 1 : kNaN;
  }
};

using Float8E4M3FN = Float8<3, 7, Beyond::Largest, true>;
using Float8E5M2 = Float8<2, 15, Beyond::Infinity, true>;
using Float8E4M3FNUZ = Float8<3, 8, Beyond::NaN, false>;
using Float8E5M2FNUZ = Float8<2, 16, Beyond::NaN, false>;

// 2^(bits - 127); the sign is lost.
struct Float8E8M0FNU {
  uint8_t bits = 0;
  Float8E8M0FNU() = default;
  explicit Float8E8M0FNU(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value), exponent = word >> 23 & 0xffU,
                   rest = word & 0x7fffffU;
    const bool is_up = rest > 0x400000U || (rest == 0x400000U && exponent > 0);
    bits = static_cast<uint8_t>(exponent == 0xffU ? exponent : exponent + is_up);
  }
  explicit operator float() const {
    if (bits == 0xff) return std::bit_cast<float>(0x7f800001U);
    return std::ldexp(1.0F, static_cast<int>(bits) - 127);
  }
};

}  // namespace weft
