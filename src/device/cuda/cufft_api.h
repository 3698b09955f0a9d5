// The part of cuFFT's interface that weft uses, as NVIDIA documents it.
#pragma once

#include <cstddef>
#include <string>

namespace weft::cuda::fft {

using Status = int;  // 0: success
using Handle = int;

enum Kind : int {
  kComplexF32 = 0x29,
  kRealF32 = 0x2a,
  kToRealF32 = 0x2c,
  kComplexF64 = 0x69,
  kRealF64 = 0x6a,
  kToRealF64 = 0x6c
};
enum Direction : int { kForward = -1, kInverse = 1 };

// name, parameters; each gives a Status
#define WEFT_CUFFT_FUNCTIONS(X)                                                                           \
  X(cufftCreate, (Handle * made))                                                                         \
  X(cufftDestroy, (Handle ended))                                                                         \
  X(cufftSetAutoAllocation, (Handle changed, int allocates))                                              \
  X(cufftMakePlanMany64,                                                                                  \
    (Handle made, int rank, long long* sizes, long long* given_sizes, long long given_step,               \
     long long given_distance, long long* result_sizes, long long result_step, long long result_distance, \
     int kind, long long count, size_t* workspace))                                                       \
  X(cufftSetStream, (Handle changed, void* stream))                                                       \
  X(cufftSetWorkArea, (Handle changed, void* workspace))                                                  \
  X(cufftExecC2C, (Handle plan, void* from, void* to, int direction))                                     \
  X(cufftExecR2C, (Handle plan, void* from, void* to))                                                    \
  X(cufftExecC2R, (Handle plan, void* from, void* to))                                                    \
  X(cufftExecZ2Z, (Handle plan, void* from, void* to, int direction))                                     \
  X(cufftExecD2Z, (Handle plan, void* from, void* to))                                                    \
  X(cufftExecZ2D, (Handle plan, void* from, void* to))

struct Api {
  std::string problem;  // why there is none; empty: all functions are there
#define WEFT_CUFFT_DECLARE(NAME, PARAMETERS) Status(*NAME) PARAMETERS = nullptr;
  WEFT_CUFFT_FUNCTIONS(WEFT_CUFFT_DECLARE)
#undef WEFT_CUFFT_DECLARE
};

}  // namespace weft::cuda::fft
