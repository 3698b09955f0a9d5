// MPI through libweft_mpi.so. Collectives are begun and then asked for, so that a rank that died does not
// hold the others for longer than the timeout, and ranks that share a core let each other run.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <limits>
#include <utility>

#include "distributed/launcher.h"
#include "distributed/mpi_shim/interface.h"
#include "distributed/transport.h"
#include "runtime/files.h"
#include "weft/error.h"

namespace weft::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMostCount = int64_t{1} << 30;  // of one message
constexpr int kTestsBeforeYield = 16;             // some microseconds
constexpr auto kBeforeSleep = std::chrono::milliseconds(20);
constexpr long kSleepNanoseconds = 200'000;

const WeftMpiInterface& load_interface() {
  const std::string path =
      (std::filesystem::path(runtime::own_library_path()).parent_path() / "libweft_mpi.so").string();
  if (!std::filesystem::exists(path))
    throw_error(
        ErrorKind::Runtime,
        fmt::format("init_process_group: this build of weft has no MPI: '{}' is not there; build weft "
                    "where CMake finds MPI (Debian: libopenmpi-dev openmpi-bin)",
                    path));
  // Open MPI's own plugins look for its symbols among those that all may see.
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    throw_error(ErrorKind::Runtime, fmt::format("init_process_group: MPI cannot be loaded: {}", ::dlerror()));
  auto* const function = reinterpret_cast<WeftMpiFunction*>(::dlsym(handle, kWeftMpiSymbol));
  const WeftMpiInterface* const found = function ? function() : nullptr;
  if (!found || found->version != kWeftMpiVersion)
    throw_error(ErrorKind::Runtime, fmt::format("init_process_group: '{}' is another version's", path));
  return *found;
}

int32_t type_of(DType dtype) {
  switch (dtype) {
    case DType::I8: return kMpiI8;
    case DType::I16: return kMpiI16;
    case DType::I32: return kMpiI32;
    case DType::I64: return kMpiI64;
    case DType::U8: return kMpiU8;
    case DType::U16: return kMpiU16;
    case DType::U32: return kMpiU32;
    case DType::U64: return kMpiU64;
    case DType::F64: return kMpiF64;
    default: WEFT_ASSERT(dtype == DType::F32, "a dtype that MPI reduces"); return kMpiF32;
  }
}

int32_t op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum: return kMpiSum;
    case ReduceOp::Product: return kMpiProduct;
    case ReduceOp::Min: return kMpiMin;
    case ReduceOp::Max: return kMpiMax;
  }
  return kMpiSum;
}

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(double timeout) : mpi_(load_interface()), timeout_(timeout) {
    end_with_launcher();
    check(mpi_.start(&rank_, &size_));
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Requests all_reduce(void* data, int64_t count, DType dtype, ReduceOp op) override {
    auto* bytes = static_cast<std::byte*>(data);
    Requests requests;
    for (int64_t done = 0; done < count; done += kMostCount)
      check(mpi_.all_reduce(bytes + done * itemsize(dtype),
                            static_cast<int32_t>(std::min(kMostCount, count - done)), type_of(dtype),
                            op_of(op), &requests.emplace_back()));
    return requests;
  }
  Requests all_gather(const void* from, void* to, int64_t bytes) override {
    check_size(bytes);
    Requests requests(1);
    check(mpi_.all_gather(from, to, static_cast<int32_t>(bytes), requests.data()));
    return requests;
  }
  Requests reduce_scatter(void* from, void* to, int64_t count, DType dtype, ReduceOp op) override {
    check_size(count);
    Requests requests(1);
    check(mpi_.reduce_scatter(from, to, static_cast<int32_t>(count), type_of(dtype), op_of(op),
                              requests.data()));
    return requests;
  }
  Requests broadcast(void* data, int64_t bytes, int root) override {
    auto* at = static_cast<std::byte*>(data);
    Requests requests;
    for (int64_t done = 0; done < bytes; done += kMostCount)
      check(mpi_.broadcast(at + done, static_cast<int32_t>(std::min(kMostCount, bytes - done)), root,
                           &requests.emplace_back()));
    return requests;
  }
  bool test(Requests& requests) override {
    while (!requests.empty()) {
      int32_t is_done = 0;
      check(mpi_.test(requests.back(), &is_done));
      if (!is_done) return false;
      requests.pop_back();
    }
    return true;
  }
  void wait(Requests requests) override {
    for (int tests = 0; tests < kTestsBeforeYield; ++tests)
      if (test(requests)) return;
    const auto start = Clock::now();
    while (!test(requests)) {
      const auto waited = Clock::now() - start;
      if (waited > std::chrono::duration<double>(timeout_))
        throw_error(
            ErrorKind::Runtime,
            fmt::format("waited {} s for the other ranks; one has ended, or is in another call", timeout_));
      if (waited < kBeforeSleep) {
        ::sched_yield();
      } else {
        const timespec pause{.tv_sec = 0, .tv_nsec = kSleepNanoseconds};
        ::nanosleep(&pause, nullptr);
      }
    }
  }

  void barrier() override {
    Requests requests(1);
    check(mpi_.barrier(requests.data()));
    wait(std::move(requests));
  }
  void finish() override {
    barrier();  // with a timeout, which MPI's own end has not
    check(mpi_.finish());
  }
  void abort(int status) override { mpi_.abort(status); }

 private:
  void check(int32_t error) const {
    if (error == 0) return;
    std::array<char, 512> text{};
    mpi_.describe(error, text.data(), static_cast<int32_t>(text.size()));
    throw_error(ErrorKind::Runtime, fmt::format("MPI: {}", text.data()));
  }
  static void check_size(int64_t size) {
    if (size > kMostCount)
      throw_error(ErrorKind::Runtime,
                  fmt::format("{} is more than the {} that one message holds", size, kMostCount));
  }
  const WeftMpiInterface& mpi_;
  double timeout_;
  int32_t rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Transport> open_mpi_transport(double timeout) {
  return std::make_unique<MpiTransport>(timeout);
}

}  // namespace weft::distributed
