// The processor: memory from the recycling allocator, kernels in the process, work done when a call returns.
#include "core/backend.h"

#include <chrono>
#include <cstring>

#include "core/copy.h"
#include "core/memory_limit.h"
#include "device/cpu/kernels.h"
#include "ops/registry.h"
#include "runtime/toolchain.h"
#include "weft/allocator.h"

namespace weft::cpu {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point time_of(const Event& event) {
  return *static_cast<const Clock::time_point*>(event.handle.get());
}

class Cpu final : public Backend {
 public:
  Cpu() : Backend("cpu", MemoryKind::Host, /*has_kernels=*/true, /*is_numbered=*/false) {}

  size_t total_memory(int) const override { return weft::total_memory(); }
  void* allocate(size_t nbytes, int, size_t* capacity) const override {
    return detail::allocate(nbytes, capacity);
  }
  void deallocate(void* data, size_t capacity, int) const noexcept override {
    detail::deallocate(data, capacity);
  }
  void copy_from_host(void* to, const void* from, size_t nbytes, int) const override {
    std::memcpy(to, from, nbytes);
  }
  void copy_to_host(void* to, const void* from, size_t nbytes, int) const override {
    std::memcpy(to, from, nbytes);
  }
  void copy_elements(const StridedPointer& to, const StridedPointer& from, const Shape& shape,
                     int) const override {
    copy_strided(to, from, shape);
  }

  // One stream, whose work is done when it has been given.
  Stream current_stream(int) const override { return {}; }
  Event record(Stream stream) const override {
    return {stream.device, std::make_shared<Clock::time_point>(Clock::now())};
  }
  void wait(Stream, const Event&) const override {}
  void synchronize(Stream) const override {}
  double elapsed_ms(const Event& from, const Event& to) const override {
    return std::chrono::duration<double, std::milli>(time_of(to) - time_of(from)).count();
  }

  const nest::Vocabulary& vocabulary() const override { return cpu::vocabulary(); }
  std::span<const nest::NestPass> schedule() const override { return cpu::schedule(); }
  int vector_bytes() const override { return runtime::host_vector_bytes(); }
  LoadedDeviceKernel load(const nest::LoopNest&, const codegen::PrintedKernel& printed,
                          std::string_view toolchain) const override {
    return cpu::load(printed, toolchain);
  }

  bool has_operator(const ops::OpDef& op) const override { return op.eager != nullptr; }
  std::vector<Tensor> run(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs,
                          int) const override {
    return op.eager(op, operands, attrs);
  }
  ops::PreparedFn prepare(const ops::OpDef& op, std::span<const Tensor> constants,
                          const ops::Attrs& attrs) const override {
    return op.prepare ? op.prepare(op, constants, attrs) : nullptr;
  }
};

[[maybe_unused]] const DeviceType registered = register_backend(std::make_unique<Cpu>());

}  // namespace
}  // namespace weft::cpu
