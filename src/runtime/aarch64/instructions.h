// 64-bit ARM: the thread's floating-point state (FPCR controls it, FPSR has what was raised), and
// instructions that C++ has no words for.
#pragma once

#include <cstdint>

#include "runtime/float_exceptions.h"

namespace weft::runtime::processor {

// FPSR's lowest bits: invalid, division by zero, overflow, underflow. x86-64's, which ours are, leave one
// out.
inline uint64_t exception_bits(unsigned flags) { return (flags & kInvalid) | (flags & ~kInvalid) >> 1; }

inline unsigned exceptions() {
  uint64_t state;
  __asm__ volatile("mrs %0, fpsr" : "=r"(state) : : "memory");
  return static_cast<unsigned>((state & 1) | (state & 0xe) << 1);
}
inline void set_exceptions(unsigned flags) {
  uint64_t state;
  __asm__ volatile("mrs %0, fpsr" : "=r"(state) : : "memory");
  const uint64_t wanted = (state & ~exception_bits(kFloatFlags)) | exception_bits(flags);
  if (state != wanted) __asm__ volatile("msr fpsr, %0" : : "r"(wanted) : "memory");
}

inline constexpr uint64_t kFlushToZero = uint64_t{1} << 24;
inline uint64_t float_control() {
  uint64_t bits;
  __asm__ volatile("mrs %0, fpcr" : "=r"(bits) : : "memory");
  return bits;
}
inline bool flushes_denormals() { return (float_control() & kFlushToZero) != 0; }
inline void set_flush_denormals(bool flushes) {
  const uint64_t state = float_control(), wanted = flushes ? state | kFlushToZero : state & ~kFlushToZero;
  if (state != wanted) __asm__ volatile("msr fpcr, %0" : : "r"(wanted) : "memory");
}

// In a loop that waits for another thread.
inline void pause() { __asm__ volatile("yield"); }

}  // namespace weft::runtime::processor
