// The part of cuSOLVER's interface that weft uses, as NVIDIA documents it: functions of dense matrices, each
// for float32 (cusolverDnS…) and float64 (cusolverDnD…).
#pragma once

#include <array>
#include <string>

namespace weft::cuda::solver {

using Status = int;  // 0: success
using Handle = void*;

enum Half : int { kLower = 0, kUpper = 1 };
enum Vectors : int { kNone = 0, kAlso = 1 };

// name behind cusolverDnS and cusolverDnD, parameters; each gives a Status. Arrays are the device's, sizes of
// workspaces are written to the process's memory.
#define WEFT_CUSOLVER_FUNCTIONS(X)                                                                           \
  X(potrf_bufferSize, (Handle handle, int half, int n, void* a, int leading, int* elements))                 \
  X(potrf, (Handle handle, int half, int n, void* a, int leading, void* room, int elements, int* info))      \
  X(getrf_bufferSize, (Handle handle, int m, int n, void* a, int leading, int* elements))                    \
  X(getrf, (Handle handle, int m, int n, void* a, int leading, void* room, int* pivots, int* info))          \
  X(getrs, (Handle handle, int operation, int n, int columns, const void* a, int leading, const int* pivots, \
            void* b, int b_leading, int* info))                                                              \
  X(syevd_bufferSize, (Handle handle, int vectors, int half, int n, const void* a, int leading,              \
                       const void* values, int* elements))                                                   \
  X(syevd, (Handle handle, int vectors, int half, int n, void* a, int leading, void* values, void* room,     \
            int elements, int* info))                                                                        \
  X(geqrf_bufferSize, (Handle handle, int m, int n, void* a, int leading, int* elements))                    \
  X(geqrf,                                                                                                   \
    (Handle handle, int m, int n, void* a, int leading, void* tau, void* room, int elements, int* info))     \
  X(orgqr_bufferSize,                                                                                        \
    (Handle handle, int m, int n, int k, const void* a, int leading, const void* tau, int* elements))        \
  X(orgqr, (Handle handle, int m, int n, int k, void* a, int leading, const void* tau, void* room,           \
            int elements, int* info))                                                                        \
  X(gesvd_bufferSize, (Handle handle, int m, int n, int* elements))                                          \
  X(gesvd, (Handle handle, signed char u_job, signed char vt_job, int m, int n, void* a, int leading,        \
            void* values, void* u, int u_leading, void* vt, int vt_leading, void* room, int elements,        \
            void* real_room, int* info))

struct Api {
  std::string problem;  // why there is none; empty: all functions are there
  Status (*create)(Handle* made) = nullptr;
  Status (*set_stream)(Handle changed, void* stream) = nullptr;
  // Of float32, and of float64.
#define WEFT_CUSOLVER_DECLARE(NAME, PARAMETERS) std::array<Status(*) PARAMETERS, 2> NAME{};
  WEFT_CUSOLVER_FUNCTIONS(WEFT_CUSOLVER_DECLARE)
#undef WEFT_CUSOLVER_DECLARE
};

}  // namespace weft::cuda::solver
