// NVIDIA's GPUs, and their emulation on the host.
#include "core/backend.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>

#include "device/cuda/driver.h"
#include "device/cuda/faults.h"
#include "device/cuda/kernels.h"
#include "device/cuda/memory.h"
#include "device/cuda/moving.h"
#include "device/cuda/operators.h"
#include "device/cuda/pinned.h"
#include "device/cuda/selecting.h"
#include "device/cuda/staging.h"
#include "runtime/log.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::cuda {

namespace {
std::atomic<bool> is_child{false};
}

bool is_forked() noexcept { return is_child.load(std::memory_order_relaxed); }

const Driver& driver() {
  static const Driver& instance = env::flag("WEFT_DEVICE_EMULATE") ? emulated_driver() : cuda_driver();
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { is_child.store(instance.why_unavailable().empty()); });
  (void)registered;
  if (is_forked()) [[unlikely]]
    throw_error(
        ErrorKind::Runtime,
        "cuda: this process is a child of fork(), and its parent has used the GPU: the driver does not "
        "work in both. Use the start method 'spawn' of multiprocessing, or fork before the GPU is used");
  return instance;
}

namespace {

struct Recorded final : RecordedWork {
  explicit Recorded(int index) : device(index), memory(index) {}
  void repeat() const override {
    driver().repeat(work.get(), device);
    expect_faults(device);
  }
  int device;
  RecordedMemory memory;
  std::shared_ptr<void> work;
};

class Cuda final : public Backend {
 public:
  Cuda() : Backend("cuda", MemoryKind::Device, /*has_kernels=*/true, /*is_numbered=*/true) {}

  std::string why_unavailable(int index) const override {
    const Driver& gpu = driver();
    if (std::string why = gpu.why_unavailable(); !why.empty()) return why;
    const int count = gpu.device_count();
    if (index < count) return {};
    return count == 1 ? fmt::format("there is one GPU, cuda:0, and no number {}", index)
                      : fmt::format("there are {} GPUs, cuda:0 to cuda:{}, and no number {}", count,
                                    count - 1, index);
  }

  size_t total_memory(int index) const override { return driver().facts(index).memory; }
  void* allocate(size_t nbytes, int index, size_t* capacity) const override {
    return take_memory(nbytes, index, capacity);
  }
  void deallocate(void* data, size_t capacity, int index) const noexcept override {
    give_memory(data, capacity, index);
  }
  void copy_from_host(void* to, const void* from, size_t nbytes, int index) const override {
    if (nbytes > 0) cuda::copy_to_device(to, from, nbytes, index);
  }
  void copy_to_host(void* to, const void* from, size_t nbytes, int index) const override {
    if (nbytes == 0) return;
    if (log::enabled(log::Channel::Syncs))
      log::write(log::Channel::Syncs, fmt::format("{} bytes are copied from cuda:{}", nbytes, index));
    cuda::copy_to_host(to, from, nbytes, index);
    check_faults(index);
  }
  std::shared_ptr<Storage> allocate_pinned(size_t nbytes) const override {
    void* data = take_pinned(nbytes, /*device=*/0);
    if (data == nullptr)
      throw_error(ErrorKind::Memory,
                  fmt::format("cuda: there is no memory left that can be pinned: asked for "
                              "{} bytes, {} are pinned",
                              nbytes, pinned_stats().used));
    return Storage::wrap(data, nbytes, [data] { give_pinned(data); });
  }
  bool is_pinned(const void* data) const override { return cuda::is_pinned(data); }
  void start_copy_from_host(void* to, const void* from, size_t nbytes, int index) const override {
    cuda::start_copy_to_device(to, from, nbytes, index);
  }
  void start_copy_to_host(void* to, const void* from, size_t nbytes, int index) const override {
    cuda::start_copy_to_host(to, from, nbytes, index);
  }
  void copy_elements(const StridedPointer& to, const StridedPointer& from, const Shape& shape,
                     int index) const override {
    cuda::copy_elements(to, from, shape, index);
  }

  Stream current_stream(int index) const override {
    return {{DeviceType::CUDA, index}, driver().stream(index)};
  }
  Event record(Stream stream) const override { return {stream.device, driver().record(stream.device.index)}; }
  bool has_passed(const Event& event) const override {
    return driver().has_passed(event.device.index, event.handle.get());
  }
  void wait(Stream stream, const Event& event) const override {
    driver().wait(stream.device.index, event.handle.get());
  }
  void synchronize(Stream stream) const override {
    driver().synchronize(stream.device.index);
    check_faults(stream.device.index);
  }
  double elapsed_ms(const Event& from, const Event& to) const override {
    return driver().elapsed_ms(from.handle.get(), to.handle.get());
  }

  const nest::Vocabulary& vocabulary() const override { return cuda::vocabulary(); }
  std::span<const nest::NestPass> schedule() const override { return cuda::schedule(); }
  int vector_bytes() const override { return 16; }
  LoadedDeviceKernel load(const nest::LoopNest& nest, const codegen::PrintedKernel& printed,
                          std::string_view toolchain) const override {
    return cuda::load(nest, printed, toolchain);
  }

  bool records_work(int index) const override {
    return driver().why_unavailable().empty() && index < driver().device_count() && driver().records();
  }
  std::unique_ptr<RecordedWork> record_work(int index, const std::function<void()>& work) const override {
    auto recorded = std::make_unique<Recorded>(index);
    driver().begin_recording(index);
    recorded->memory.begin();
    try {
      work();
    } catch (const Error& error) {
      recorded->memory.end();
      driver().end_recording(index, /*keep=*/false);
      if (log::enabled(log::Channel::Syncs))
        log::write(log::Channel::Syncs, fmt::format("a run is not recorded: {}", error.what()));
      return nullptr;
    } catch (...) {
      recorded->memory.end();
      driver().end_recording(index, /*keep=*/false);
      throw;
    }
    recorded->memory.end();
    recorded->work = driver().end_recording(index, /*keep=*/true);
    return recorded;
  }

  bool set_indexed(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values) const override {
    return put_indexed(x, indices, values);
  }

  std::vector<Tensor> run_composite(const ops::OpDef& op, const ops::OpArgs& args) const override {
    return run_counted(op, args);
  }
  bool has_operator(const ops::OpDef& op) const override {
    return op.eager != nullptr && op.name.find("channels_last") == std::string::npos;
  }
  std::vector<Tensor> run(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs,
                          int index) const override {
    return run_operator(op, operands, attrs, index);
  }
};

[[maybe_unused]] const DeviceType registered = register_backend(std::make_unique<Cuda>());

}  // namespace
}  // namespace weft::cuda
