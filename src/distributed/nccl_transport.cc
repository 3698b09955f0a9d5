// NCCL moves memory of GPUs, a GPU per rank: collectives are given to the GPU's stream, behind the work that
// made their operands, and nobody waits for them here. Ranks find each other, and move memory of the host, by
// the transport of CPUs.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>

#include "core/backend.h"
#include "distributed/collective_watch.h"
#include "distributed/group.h"
#include "distributed/nccl_api.h"
#include "distributed/transport.h"
#include "runtime/launcher.h"
#include "weft/error.h"

namespace weft::distributed {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw_error(ErrorKind::Runtime,
              fmt::format("init_process_group: backend 'nccl': {}; backend 'mpi' works on CPUs", why));
}

void* symbol(void* handle, const char* name) {
  void* const found = ::dlsym(handle, name);
  if (!found) refuse(fmt::format("libnccl.so.2 has no {}", name));
  return found;
}

const nccl::Api& load_api() {
  static const nccl::Api api = [] {
    void* const handle = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const std::string reason = ::dlerror();
      refuse(fmt::format("NCCL is not installed ({})", reason));
    }
    nccl::Api loaded;
#define WEFT_NCCL_LOAD(name, parameters) \
  loaded.name = reinterpret_cast<decltype(loaded.name)>(symbol(handle, #name));
    WEFT_NCCL_FUNCTIONS(WEFT_NCCL_LOAD)
#undef WEFT_NCCL_LOAD
    loaded.ncclGetErrorString =
        reinterpret_cast<decltype(loaded.ncclGetErrorString)>(symbol(handle, "ncclGetErrorString"));
    return loaded;
  }();
  return api;
}

nccl::DataType nccl_type_of(DType dtype) {
  switch (dtype) {
    case DType::I8: return nccl::kI8;
    case DType::U8: return nccl::kU8;
    case DType::I32: return nccl::kI32;
    case DType::U32: return nccl::kU32;
    case DType::I64: return nccl::kI64;
    case DType::U64: return nccl::kU64;
    case DType::F64: return nccl::kF64;
    default: WEFT_ASSERT(dtype == DType::F32, "a dtype that NCCL reduces"); return nccl::kF32;
  }
}

nccl::Reduction nccl_op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum: return nccl::kSum;
    case ReduceOp::Product: return nccl::kProduct;
    case ReduceOp::Min: return nccl::kMin;
    case ReduceOp::Max: return nccl::kMax;
  }
  return nccl::kSum;
}

class NcclTransport final : public Transport {
 public:
  NcclTransport(Transport& host, double timeout) : api_(load_api()), host_(host) {
    const std::optional<runtime::Launch> launch = runtime::launch();
    device_ = Device{DeviceType::CUDA, launch ? launch->local_rank : 0};
    if (const std::string why = backend_of(device_).why_unavailable(device_.index); !why.empty())
      refuse(fmt::format("rank {}, the {}. on this machine, has no GPU of its own: {}", host.rank(),
                         device_.index + 1, why));
    nccl::UniqueId id;
    if (host.rank() == 0) check(api_.ncclGetUniqueId(&id), "init_process_group: ");
    host.wait(host.broadcast(&id, sizeof id, 0));
    stream();  // the GPU is the thread's current one
    check(api_.ncclCommInitRank(&communicator_, host.size(), id, host.rank()), "init_process_group: ");
    watch_ =
        std::make_unique<CollectiveWatch>(fmt::format("rank {} of {}", host.rank(), host.size()), timeout);
  }
  ~NcclTransport() override = default;

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  Device device() const override { return device_; }

  Requests all_reduce(void* data, int64_t count, DType dtype, ReduceOp op) override {
    return begin("all_reduce", api_.ncclAllReduce(data, data, static_cast<size_t>(count), nccl_type_of(dtype),
                                                  nccl_op_of(op), communicator_, stream()));
  }
  Requests all_gather(const void* from, void* to, int64_t bytes) override {
    return begin("all_gather", api_.ncclAllGather(from, to, static_cast<size_t>(bytes), nccl::kU8,
                                                  communicator_, stream()));
  }
  Requests reduce_scatter(void* from, void* to, int64_t count, DType dtype, ReduceOp op) override {
    return begin("reduce_scatter",
                 api_.ncclReduceScatter(from, to, static_cast<size_t>(count), nccl_type_of(dtype),
                                        nccl_op_of(op), communicator_, stream()));
  }
  Requests broadcast(void* data, int64_t bytes, int root) override {
    return begin("broadcast", api_.ncclBroadcast(data, data, static_cast<size_t>(bytes), nccl::kU8, root,
                                                 communicator_, stream()));
  }
  bool test(Requests&) override { return true; }
  void wait(Requests) override {}
  void barrier() override {
    backend_of(device_).synchronize(current());
    host_.barrier();
  }
  void finish() override {
    backend_of(device_).synchronize(current());
    watch_.reset();
    host_.barrier();
    check(api_.ncclCommDestroy(communicator_));
  }
  void abort(int) override { api_.ncclCommAbort(communicator_); }

 private:
  Stream current() const { return backend_of(device_).current_stream(device_.index); }
  // Also makes the GPU the calling thread's current one.
  void* stream() const { return current().handle; }

  Requests begin(const char* what, nccl::Result error) {
    check(error);
    watch_->add(what, [event = backend_of(device_).record(current())] {
      return backend_of(event.device).has_passed(event);
    });
    return {};
  }
  void check(nccl::Result error, const char* before = "") const {
    if (error == nccl::kSuccess && communicator_ != nullptr)
      api_.ncclCommGetAsyncError(communicator_, &error);
    if (error != nccl::kSuccess && error != nccl::kInProgress)
      throw_error(ErrorKind::Runtime, fmt::format("{}NCCL: {}", before, api_.ncclGetErrorString(error)));
  }

  const nccl::Api& api_;
  Transport& host_;
  Device device_;
  nccl::Communicator communicator_ = nullptr;
  std::unique_ptr<CollectiveWatch> watch_;
};

// One rank, which nobody started.
class Alone final : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Requests all_reduce(void*, int64_t, DType, ReduceOp) override { return {}; }
  Requests all_gather(const void* from, void* to, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return {};
  }
  Requests reduce_scatter(void* from, void* to, int64_t count, DType dtype, ReduceOp) override {
    std::memcpy(to, from, static_cast<size_t>(count * itemsize(dtype)));
    return {};
  }
  Requests broadcast(void*, int64_t, int) override { return {}; }
  bool test(Requests&) override { return true; }
  void wait(Requests) override {}
  void barrier() override {}
  void finish() override {}
  void abort(int) override {}
};

}  // namespace

std::unique_ptr<Transport> open_host_transport_for_nccl(double timeout) {
  // What is missing is said in order: a GPU, the library, MPI.
  if (const std::string why = backend_of(Device{DeviceType::CUDA}).why_unavailable(0); !why.empty())
    refuse(why);
  load_api();
  if (!runtime::launch()) return std::make_unique<Alone>();
  return open_mpi_transport(timeout);
}

std::unique_ptr<Transport> open_nccl_transport(Transport& host, double timeout) {
  return std::make_unique<NcclTransport>(host, timeout);
}

}  // namespace weft::distributed
