// What this machine can do at most, as numbers to compare a kernel with: measured once, kept in the cache.
#pragma once

#include "core/profiling.h"

namespace weft::runtime {

struct Peaks {
  double bytes_per_ns = 0;  // of memory
  double float32_per_ns = 0, float64_per_ns = 0, bfloat16_per_ns = 0, int8_per_ns = 0;

  double operations_per_ns(DType dtype) const;
  // The time that the work takes at least; 0 where it is not known.
  double least_ns(const profiling::Work& work) const;
};

// On the current number of threads; null where they have not been measured.
const Peaks* known_peaks();
// Measures them where that has not been done, in about a second.
const Peaks& measured_peaks();

}  // namespace weft::runtime
