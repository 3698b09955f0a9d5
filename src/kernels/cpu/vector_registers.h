// How many vector registers the instructions have that a file of kernels is compiled for: its loops keep as
// many sums as fit. Files differ in it.
#pragma once

namespace weft::kernels {

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kVectorRegisters = 32;
#else
constexpr int kVectorRegisters = 16;
#endif

}  // namespace weft::kernels
