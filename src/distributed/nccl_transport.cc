// NCCL moves memory of GPUs. What is missing is said in order: the driver, a GPU, the library, tensors on a
// GPU.
#include <dlfcn.h>
#include <fmt/format.h>

#include "distributed/transport.h"
#include "weft/error.h"

namespace weft::distributed {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw_error(ErrorKind::Runtime,
              fmt::format("init_process_group: backend 'nccl': {}; backend 'mpi' works on CPUs", why));
}

void* load(const char* name, const char* what) {
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const std::string reason = ::dlerror();
    refuse(fmt::format("{} ({})", what, reason));
  }
  return handle;
}

template <class F>
F* symbol(void* handle, const char* name) {
  auto* const found = reinterpret_cast<F*>(::dlsym(handle, name));
  if (!found) refuse(fmt::format("the library has no {}", name));
  return found;
}

}  // namespace

std::unique_ptr<Transport> open_nccl_transport(double) {
  void* const cuda = load("libcuda.so.1", "there is no NVIDIA driver, and so no GPU");
  int count = 0;
  const int started = symbol<int(unsigned)>(cuda, "cuInit")(0);
  if (started != 0 || symbol<int(int*)>(cuda, "cuDeviceGetCount")(&count) != 0 || count == 0)
    refuse(fmt::format("the NVIDIA driver finds no GPU (cuInit gives {})", started));
  void* const nccl = load("libnccl.so.2", "NCCL is not installed");
  int version = 0;
  symbol<int(int*)>(nccl, "ncclGetVersion")(&version);
  refuse(fmt::format("{} GPUs and NCCL {} are there, but this build of weft has no tensors on GPUs", count,
                     version));
}

}  // namespace weft::distributed
