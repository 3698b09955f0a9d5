// What a device is to weft: one implementation of Backend per kind of device, in a folder of its own.
//
// src/device/cpu is the first, src/device/meta the second. A further one is a folder beside them, with a
// source file that registers its backend when the library is loaded; nothing else names it. tests/device has
// one whose memory the process cannot read, on which every operator and compiled graphs run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/device.h"
#include "weft/tensor.h"

namespace weft {

struct StridedPointer;  // core/copy.h

namespace ops {
struct OpArgs;
struct OpDef;
class Attrs;
}  // namespace ops
namespace nest {
struct LoopNest;
class Vocabulary;
struct NestPass;
}  // namespace nest
namespace codegen {
struct PrintedKernel;
}

// Work that is given to a stream is done in order. A stream of the CPU has done it when the call returns.
struct Stream {
  Device device;
  void* handle = nullptr;  // the backend's; null: the device's default stream
};

// A point in a stream's work.
struct Event {
  Device device;
  std::shared_ptr<void> handle;  // the backend's
};

// A kernel that is loaded on a device; may be launched from several threads at once.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  // `arrays`: addresses of the nest's buffers, in their order. `symbols`: the graph's, by number. Both are
  // read before the call returns.
  virtual void launch(void* const* arrays, const int64_t* symbols, Stream stream) const = 0;
};

// Work of a stream that can be done again, in the memory that it had.
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  virtual void repeat() const = 0;
};

struct LoadedDeviceKernel {
  std::shared_ptr<const DeviceKernel> kernel;
  double compile_ms = 0;  // 0 from a cache
  bool from_cache = false;
};

// Who can read a device's memory.
enum class MemoryKind : uint8_t {
  Host,    // the process: Tensor::data() is an address of its own
  Device,  // kernels on the device
  None,    // there is none: tensors have a type only
};

// Methods that a device lacks (kernels of `meta`, say) are never called: see `memory` and `has_kernels`.
class Backend {
 public:
  const std::string name;  // "cpu": what Device::parse reads
  const MemoryKind memory;
  const bool has_kernels;  // compiles loop nests; without, graphs run operator by operator
  const bool is_numbered;  // "cuda:1"; other devices have one name and one index, 0

  virtual ~Backend() = default;

  // Why the device cannot be used on this machine; empty where it can.
  virtual std::string why_unavailable(int /*index*/) const { return {}; }

  // ---- memory ----
  // Bytes that one tensor can have at most.
  virtual size_t total_memory(int index) const = 0;
  // At least `nbytes`, aligned to 64; `capacity` is what deallocate wants back, and not 0. MemoryError naming
  // the size.
  virtual void* allocate(size_t nbytes, int index, size_t* capacity) const = 0;
  virtual void deallocate(void* data, size_t capacity, int index) const noexcept = 0;
  // Bytes from and to the process's memory, behind the work of the current stream; done when the call
  // returns.
  virtual void copy_from_host(void* to, const void* from, size_t nbytes, int index) const = 0;
  virtual void copy_to_host(void* to, const void* from, size_t nbytes, int index) const = 0;
  // Pinned memory is the process's, and the device copies from and to it by itself. Null: the device has no
  // such; MemoryError where there is none left.
  virtual std::shared_ptr<Storage> allocate_pinned(size_t /*nbytes*/) const { return nullptr; }
  virtual bool is_pinned(const void* /*data*/) const { return false; }
  // As the copies above; of pinned memory the call may return before: what is read stays as it is, and what
  // is written is not read, until the stream was waited for.
  virtual void start_copy_from_host(void* to, const void* from, size_t nbytes, int index) const {
    copy_from_host(to, from, nbytes, index);
  }
  virtual void start_copy_to_host(void* to, const void* from, size_t nbytes, int index) const {
    copy_to_host(to, from, nbytes, index);
  }
  // Elements within the device, converted (core/copy.h has the rules).
  virtual void copy_elements(const StridedPointer& to, const StridedPointer& from, const Shape& shape,
                             int index) const = 0;

  // ---- streams and events ----
  // The calling thread's, to which operators and kernels go.
  virtual Stream current_stream(int index) const = 0;
  virtual Event record(Stream stream) const = 0;
  virtual void wait(Stream stream, const Event& event) const = 0;  // what the stream is given later waits
  virtual bool has_passed(const Event& /*event*/) const { return true; }  // without waiting
  virtual void synchronize(Stream stream) const = 0;
  virtual double elapsed_ms(const Event& from, const Event& to) const = 0;  // waits for both

  // ---- kernels ----
  // What the device's generated code calls things, and which scalar primitives it has.
  virtual const nest::Vocabulary& vocabulary() const = 0;
  // How outer loops, lanes and reductions of a nest are mapped to the device: passes, in order.
  virtual std::span<const nest::NestPass> schedule() const = 0;
  // Bytes that one instruction of the device loads at most.
  virtual int vector_bytes() const = 0;
  // Compiles the printed nest, or finds it in a cache. Throws Error(Runtime) with the compiler's message.
  // `toolchain`: as CompileOptions says.
  virtual LoadedDeviceKernel load(const nest::LoopNest& nest, const codegen::PrintedKernel& printed,
                                  std::string_view toolchain) const = 0;

  // ---- recorded work ----
  virtual bool records_work(int /*index*/) const { return false; }
  // What `work` gives to the device's stream is recorded in place of being done; what it allocates stays as
  // long as the result. Null, with a line in the log, where it waits for elements or gives work to the host.
  virtual std::unique_ptr<RecordedWork> record_work(int /*index*/,
                                                    const std::function<void()>& /*work*/) const {
    return nullptr;
  }

  // ---- operators ----
  // Passes that would make a graph call the operator ask first; what is not there is computed by others.
  virtual bool has_operator(const ops::OpDef& op) const = 0;
  // A composite operator that reads elements of its operands, which are all on this device. Empty where it
  // has no form of it: it runs on the host then.
  virtual std::vector<Tensor> run_composite(const ops::OpDef&, const ops::OpArgs&) const { return {}; }
  // Runs a strict call that has been checked, all operands on this device.
  virtual std::vector<Tensor> run(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs, int index) const = 0;
  // x[indices] = values in place (core/index_arrays.h), values contiguous; false where the device has no way
  // to.
  virtual bool set_indexed(const Tensor& /*x*/, const std::vector<Tensor>& /*indices*/,
                           const Tensor& /*values*/) const {
    return false;
  }
  // What repeated calls need to do once (ops::PrepareFn); null where nothing would be gained.
  virtual std::function<std::vector<Tensor>(std::span<const Tensor>)> prepare(
      const ops::OpDef& op, std::span<const Tensor> constants, const ops::Attrs& attrs) const;

 protected:
  Backend(std::string name_, MemoryKind memory_, bool has_kernels_, bool is_numbered_)
      : name(std::move(name_)), memory(memory_), has_kernels(has_kernels_), is_numbered(is_numbered_) {}
};

// Makes a device known to the process: of the type that DeviceType has for its name, or of a new one. Called
// when the library is loaded; internal error where the name is taken.
DeviceType register_backend(std::unique_ptr<const Backend> backend);

namespace detail {
inline constexpr size_t kMaxDeviceTypes = 16;
extern const Backend* backends[kMaxDeviceTypes];  // by type; null where there is none
}  // namespace detail

// Of a device that there are tensors on.
inline const Backend& backend_of(Device device) {
  return *detail::backends[static_cast<size_t>(device.type)];
}
// RuntimeError, naming the reason, where the device cannot be used on this machine.
inline const Backend& available_backend(Device device) {
  if (device.type != DeviceType::CPU) require_available(device);
  return backend_of(device);
}
inline bool is_on_host(Device device) { return backend_of(device).memory == MemoryKind::Host; }
inline bool has_memory(Device device) { return backend_of(device).memory != MemoryKind::None; }

}  // namespace weft
