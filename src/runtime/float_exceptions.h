// Floating-point exceptions, by bits of weft's own on every processor.
#pragma once

namespace weft::runtime {

constexpr unsigned kInvalid = 1, kDivideByZero = 4, kOverflow = 8, kUnderflow = 16;
constexpr unsigned kFloatFlags = kInvalid | kDivideByZero | kOverflow | kUnderflow;

}  // namespace weft::runtime
