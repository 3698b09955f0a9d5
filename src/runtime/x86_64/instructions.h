// x86-64: the thread's floating-point state, which is MXCSR, and instructions that C++ has no words for.
#pragma once

#include <xmmintrin.h>

#include "runtime/float_exceptions.h"

namespace weft::runtime::processor {

inline unsigned exceptions() { return _mm_getcsr() & kFloatFlags; }
inline void set_exceptions(unsigned flags) {
  const unsigned state = _mm_getcsr(), wanted = (state & ~kFloatFlags) | flags;
  if (state != wanted) _mm_setcsr(wanted);
}

inline constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x40;
inline bool flushes_denormals() { return (_mm_getcsr() & kFlushToZero) != 0; }
inline void set_flush_denormals(bool flushes) {
  constexpr unsigned kBoth = kFlushToZero | kDenormalsAreZero;
  const unsigned state = _mm_getcsr(), wanted = flushes ? state | kBoth : state & ~kBoth;
  if (state != wanted) _mm_setcsr(wanted);
}

// In a loop that waits for another thread.
inline void pause() { __builtin_ia32_pause(); }

}  // namespace weft::runtime::processor
