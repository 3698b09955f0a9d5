// The part of NCCL's interface that weft uses, as NVIDIA documents it; found by name in libnccl.so.2 when a
// process group asks for it. No header of NCCL's is needed to build weft.
#pragma once

#include <array>
#include <cstddef>

namespace weft::distributed::nccl {

using Result = int;
using Communicator = void*;
using CudaStream = void*;
struct UniqueId {
  std::array<char, 128> bytes{};
};

enum : Result { kSuccess = 0, kInProgress = 7 };
enum DataType : int { kI8 = 0, kU8 = 1, kI32 = 2, kU32 = 3, kI64 = 4, kU64 = 5, kF32 = 7, kF64 = 8 };
enum Reduction : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3 };

// name, parameters; each gives a Result
#define WEFT_NCCL_FUNCTIONS(X)                                                                               \
  X(ncclGetVersion, (int* version))                                                                          \
  X(ncclGetUniqueId, (UniqueId * id))                                                                        \
  X(ncclCommInitRank, (Communicator * made, int ranks, UniqueId id, int rank))                               \
  X(ncclCommDestroy, (Communicator ended))                                                                   \
  X(ncclCommAbort, (Communicator ended))                                                                     \
  X(ncclCommGetAsyncError, (Communicator asked, Result * error))                                             \
  X(ncclAllReduce, (const void* from, void* to, size_t count, int type, int op, Communicator communicator,   \
                    CudaStream stream))                                                                      \
  X(ncclAllGather,                                                                                           \
    (const void* from, void* to, size_t count, int type, Communicator communicator, CudaStream stream))      \
  X(ncclReduceScatter, (const void* from, void* to, size_t count, int type, int op,                          \
                        Communicator communicator, CudaStream stream))                                       \
  X(ncclBroadcast, (const void* from, void* to, size_t count, int type, int root, Communicator communicator, \
                    CudaStream stream))

struct Api {
#define WEFT_NCCL_MEMBER(name, parameters) Result(*name) parameters = nullptr;
  WEFT_NCCL_FUNCTIONS(WEFT_NCCL_MEMBER)
#undef WEFT_NCCL_MEMBER
  const char* (*ncclGetErrorString)(Result error) = nullptr;
};

}  // namespace weft::distributed::nccl
