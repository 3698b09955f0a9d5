// A library with the functions of libcuda.so.1 that weft calls, and no GPU: memory is the process's, kernels
// do nothing. FAKE_CUDA says what fails.
#include <cstdlib>
#include <cstring>
#include <string>

namespace {
bool fails(const char* what) {
  const char* set = std::getenv("FAKE_CUDA");
  return set != nullptr && std::string(set) == what;
}
bool launched = false;
}  // namespace

extern "C" {
int cuInit(unsigned) { return fails("no device") ? 100 : fails("init") ? 999 : 0; }
int cuDriverGetVersion(int* version) {
  *version = fails("ancient") ? 8000 : fails("older") ? 11040 : 13000;
  return 0;
}
int cuGetErrorName(int error, const char** text) {
  *text = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY"
                       : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == 700 ? "an illegal memory access was encountered" : "unknown error";
  return 0;
}
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char* name, int, int) { return std::strcpy(name, "Fake GPU"), 0; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const int major = fails("old gpu") ? 3 : 9;
  return *value = attribute == 75 ? major : attribute == 76 ? 0 : 8, 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t{1} << 30, 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &launched, 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = *total = size_t{1} << 30, 0; }
int cuMemAlloc_v2(unsigned long long* data, size_t bytes) {
  if (fails("memory")) return 2;
  *data = reinterpret_cast<unsigned long long>(std::calloc(1, bytes));
  return 0;
}
int cuMemFree_v2(unsigned long long data) { return std::free(reinterpret_cast<void*>(data)), 0; }
int cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  if (fails("pinned")) return 2;
  return *data = std::calloc(1, bytes), 0;
}
int cuMemFreeHost(void* data) { return std::free(data), 0; }
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void*) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void*) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void*) {
  return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), 0;
}
int cuPointerGetAttribute(void*, int, unsigned long long) { return 1; }
int cuStreamCreate(void** stream, unsigned) { return *stream = &launched, 0; }
int cuStreamSynchronize(void*) { return launched && fails("kernel") ? 700 : 0; }
int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
int cuEventCreate(void** event, unsigned) { return *event = &launched, 0; }
int cuEventRecord(void*, void*) { return 0; }
int cuEventSynchronize(void*) { return 0; }
int cuEventQuery(void*) { return 0; }
int cuEventElapsedTime(float* milliseconds, void*, void*) { return *milliseconds = 1, 0; }
int cuEventDestroy_v2(void*) { return 0; }
int cuLinkCreate_v2(unsigned, int*, void** values, void** state) { return *state = values[0], 0; }
int cuLinkAddData_v2(void* state, int, void* data, size_t, const char*, unsigned, int*, void**) {
  if (fails("ptx")) return std::strcpy(static_cast<char*>(state), "line 1: what is this"), 218;
  const bool is_ptx = std::strstr(static_cast<const char*>(data), ".visible .entry nothing") != nullptr;
  const bool is_older = std::strstr(static_cast<const char*>(data), ".target sm_86") != nullptr;
  return is_ptx && is_older == fails("older") ? 0 : 1;
}
int cuLinkComplete(void*, void** cubin, size_t* size) {
  static char image[] = "cubin";
  return *cubin = image, *size = sizeof image, 0;
}
int cuLinkDestroy(void*) { return 0; }
int cuModuleLoadData(void** module, const void*) { return *module = &launched, 0; }
int cuModuleGetFunction(void** function, void*, const char*) { return *function = &launched, 0; }
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuModuleUnload(void*) { return 0; }
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                   void**) {
  return launched = true, 0;
}
}
