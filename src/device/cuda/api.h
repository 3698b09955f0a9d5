// The part of the CUDA driver's interface that weft uses, as NVIDIA documents it; found by name in
// libcuda.so.1 when the process first asks for a GPU. No header of CUDA's is needed to build weft.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::cuda::api {

using Result = int;  // 0: success
using DeviceId = int;
using Address = unsigned long long;
using Context = void*;
using ModuleHandle = void*;
using Function = void*;
using StreamHandle = void*;
using EventHandle = void*;
using LinkState = void*;
using Graph = void*;
using GraphExec = void*;

enum : Result {
  kSuccess = 0,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kOfSystem = 304,  // CUDA_ERROR_OPERATING_SYSTEM
  kNotReady = 600,
  kNotPermitted = 800,
  kNotSupported = 801,
};
// Attributes of devices, pointers and functions, options of the linker.
enum : int {
  kMultiprocessors = 16,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kPointerMemoryType = 2,
  kMostLaunchShared = 8,  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  kInfoLog = 3,           // CU_JIT_INFO_LOG_BUFFER
  kInfoLogSize = 4,       // …_SIZE_BYTES
  kErrorLog = 5,          // CU_JIT_ERROR_LOG_BUFFER
  kErrorLogSize = 6,      // …_SIZE_BYTES
  kInputPtx = 1,          // CU_JIT_INPUT_PTX
  kStreamNonBlocking = 1,
  kPinnedPortable = 1,  // CU_MEMHOSTALLOC_PORTABLE: for all devices
  kCaptureRelaxed = 2,  // CU_STREAM_CAPTURE_MODE_RELAXED
};

// name, parameters
#define WEFT_CUDA_FUNCTIONS(X)                                                                               \
  X(cuInit, (unsigned flags))                                                                                \
  X(cuDriverGetVersion, (int* version))                                                                      \
  X(cuGetErrorName, (Result error, const char** text))                                                       \
  X(cuGetErrorString, (Result error, const char** text))                                                     \
  X(cuDeviceGetCount, (int* count))                                                                          \
  X(cuDeviceGet, (DeviceId * device, int ordinal))                                                           \
  X(cuDeviceGetName, (char* name, int length, DeviceId device))                                              \
  X(cuDeviceGetAttribute, (int* value, int attribute, DeviceId device))                                      \
  X(cuDeviceTotalMem_v2, (size_t* bytes, DeviceId device))                                                   \
  X(cuDevicePrimaryCtxRetain, (Context * context, DeviceId device))                                          \
  X(cuCtxSetCurrent, (Context context))                                                                      \
  X(cuMemGetInfo_v2, (size_t* free, size_t* total))                                                          \
  X(cuMemAlloc_v2, (Address * data, size_t bytes))                                                           \
  X(cuMemFree_v2, (Address data))                                                                            \
  X(cuMemHostAlloc, (void** data, size_t bytes, unsigned flags))                                             \
  X(cuMemFreeHost, (void* data))                                                                             \
  X(cuMemcpyHtoDAsync_v2, (Address to, const void* from, size_t bytes, StreamHandle stream))                 \
  X(cuMemcpyDtoHAsync_v2, (void* to, Address from, size_t bytes, StreamHandle stream))                       \
  X(cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, StreamHandle stream))                     \
  X(cuPointerGetAttribute, (void* value, int attribute, Address data))                                       \
  X(cuStreamCreate, (StreamHandle * stream, unsigned flags))                                                 \
  X(cuStreamSynchronize, (StreamHandle stream))                                                              \
  X(cuStreamWaitEvent, (StreamHandle stream, EventHandle event, unsigned flags))                             \
  X(cuEventCreate, (EventHandle * event, unsigned flags))                                                    \
  X(cuEventRecord, (EventHandle event, StreamHandle stream))                                                 \
  X(cuEventSynchronize, (EventHandle event))                                                                 \
  X(cuEventQuery, (EventHandle event))                                                                       \
  X(cuEventElapsedTime, (float* milliseconds, EventHandle from, EventHandle to))                             \
  X(cuEventDestroy_v2, (EventHandle event))                                                                  \
  X(cuLinkCreate_v2, (unsigned count, int* options, void** values, LinkState* state))                        \
  X(cuLinkAddData_v2, (LinkState state, int type, void* data, size_t size, const char* name, unsigned count, \
                       int* options, void** values))                                                         \
  X(cuLinkComplete, (LinkState state, void** cubin, size_t* size))                                           \
  X(cuLinkDestroy, (LinkState state))                                                                        \
  X(cuModuleLoadData, (ModuleHandle * module, const void* image))                                            \
  X(cuModuleGetFunction, (Function * function, ModuleHandle module, const char* name))                       \
  X(cuFuncSetAttribute, (Function function, int attribute, int value))                                       \
  X(cuModuleUnload, (ModuleHandle module))                                                                   \
  X(cuLaunchKernel, (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
                     unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,         \
                     void** parameters, void** extra))

// Newer ones, that are done without: recorded work needs CUDA 11.4.
#define WEFT_CUDA_NEWER_FUNCTIONS(X)                                                        \
  X(cuStreamBeginCapture_v2, (StreamHandle stream, int mode))                               \
  X(cuStreamEndCapture, (StreamHandle stream, Graph * graph))                               \
  X(cuGraphInstantiateWithFlags, (GraphExec * exec, Graph graph, unsigned long long flags)) \
  X(cuGraphLaunch, (GraphExec exec, StreamHandle stream))                                   \
  X(cuGraphExecDestroy, (GraphExec exec))                                                   \
  X(cuGraphDestroy, (Graph graph))

struct Api {
  std::string problem;  // why there is none; empty: all functions are there
#define WEFT_CUDA_DECLARE(NAME, PARAMETERS) Result(*NAME) PARAMETERS = nullptr;
  WEFT_CUDA_FUNCTIONS(WEFT_CUDA_DECLARE)
  WEFT_CUDA_NEWER_FUNCTIONS(WEFT_CUDA_DECLARE)  // null where the driver has none
#undef WEFT_CUDA_DECLARE
};

// Loaded at the first call; `library`: for tests, what is loaded in place of libcuda.so.1.
Api load(const char* library = "libcuda.so.1");

}  // namespace weft::cuda::api
