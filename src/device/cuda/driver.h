// What weft asks of NVIDIA's driver. Two implementations: libcuda.so.1, loaded when it is first asked for,
// and an emulation on the host (WEFT_DEVICE_EMULATE=1) whose memory the process cannot read by the addresses
// it gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace weft::cuda {

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0;  // compute capability: 9.0 is sm_90
  int multiprocessors = 1;
  bool has_wgmma = false;  // sm_90, with a driver that reads PTX of sm_90a
  size_t memory = 0;       // bytes
};

inline constexpr size_t kMostDevices = 64;  // that tables by device have room for

struct Launch {
  int64_t blocks;                       // of nest::kGridThreads threads
  bool waits;                           // threads wait for each other
  void* const* parameters;              // addresses of 8-byte values
  std::span<const uint8_t> is_address;  // by parameter
  int64_t shared = 0;                   // bytes of shared memory beside what the kernel declares
};

// Kernels that are loaded on one device. Functions stay valid as long as it lives.
class LoadedModule {
 public:
  virtual ~LoadedModule() = default;
  virtual void* function(const std::string& name) const = 0;
};

struct CompiledModule {
  std::shared_ptr<const LoadedModule> module;
  double compile_ms = 0;  // 0 from a cache
  bool from_cache = false;
};

// Work is done in the order of the calls; a device has one stream. Errors are Error(Runtime) and name what
// failed.
class Driver {
 public:
  virtual ~Driver() = default;
  // Why nothing works; empty where it does.
  virtual std::string why_unavailable() const = 0;
  virtual int device_count() const = 0;
  virtual const DeviceFacts& facts(int device) const = 0;
  virtual bool is_emulated() const { return false; }

  // Null where there is none left.
  virtual void* allocate(size_t nbytes, int device) const = 0;
  virtual void release(void* data, int device) const noexcept = 0;
  virtual size_t free_memory(int device) const = 0;
  // The process's memory may be written when the call returns.
  virtual void copy_to_device(void* to, const void* from, size_t nbytes, int device) const = 0;
  virtual void copy_to_host(void* to, const void* from, size_t nbytes, int device) const = 0;
  virtual void copy_within(void* to, const void* from, size_t nbytes, int device) const = 0;

  // Memory of the process that all devices copy from and to by themselves (device/cuda/pinned.h keeps it).
  // Null where the system gives none. Released by the device that it was asked of.
  virtual void* allocate_pinned(size_t nbytes, int device) const = 0;
  virtual void release_pinned(void* data, int device) const noexcept = 0;
  // Copies from and to pinned memory, which the call does not wait for.
  virtual void start_copy_to_device(void* to, const void* from, size_t nbytes, int device) const = 0;
  virtual void start_copy_to_host(void* to, const void* from, size_t nbytes, int device) const = 0;

  virtual void* stream(int device) const = 0;
  virtual std::shared_ptr<void> record(int device) const = 0;
  virtual void wait(int device, void* event) const = 0;
  virtual void wait_here(int device, void* event) const = 0;  // the calling thread does
  virtual bool has_passed(int device, void* event) const = 0;
  virtual void synchronize(int device) const = 0;
  virtual double elapsed_ms(void* from, void* to) const = 0;

  // Held while work is given to the device, and by a thread from begin_recording to end_recording. It comes
  // before each other lock of this folder: who holds another one does not wait for it. A thread may take it
  // again.
  virtual std::unique_lock<std::recursive_mutex> submitting(int device) const = 0;
  // What the calling thread launches and copies within the device between these two is recorded, not done;
  // what would wait for the device, or another device for it, is an error then. `keep`: false gives nothing.
  virtual bool records() const = 0;
  virtual bool is_recording(int device) const = 0;  // the calling thread
  // RuntimeError where the calling thread records: `what` waits.
  virtual void refuse_recording(const char* what, int device) const = 0;
  virtual void begin_recording(int device) const = 0;
  virtual std::shared_ptr<void> end_recording(int device, bool keep) const = 0;
  virtual void repeat(void* recording, int device) const = 0;

  // `source`: what codegen::print_grid gave.
  virtual CompiledModule load(const std::string& name, const std::string& source, std::string_view toolchain,
                              int device) const = 0;
  virtual void launch(const std::string& name, void* function, const Launch& launch, int device) const = 0;
  // Of a library that gives work to the stream: calls it with the device as the thread's own, and gives what
  // it returns, 0 being success. On an emulated device recorded calls are made when the recording is
  // repeated.
  virtual int call_library(const std::string& name, const std::function<int(void* stream)>& call,
                           int device) const = 0;
};

// The one of this process: emulated where WEFT_DEVICE_EMULATE says so at the first call. RuntimeError in a
// child of fork() whose parent used it.
const Driver& driver();
// In such a child, whose memory of devices is its parent's to release.
bool is_forked() noexcept;
const Driver& cuda_driver();
const Driver& emulated_driver();
std::unique_ptr<const Driver> cuda_driver_of(const char* library);  // for tests: in place of libcuda.so.1

// For tests of what happens where the emulated device's memory ends; 0: as much as it has usually.
void set_emulated_memory(size_t bytes);
void set_emulated_pinned_memory(size_t bytes);
// What the time between two events is there, per kernel and per call of a library; 0: what it takes.
void set_emulated_times(double kernel_ms, double library_ms);
// What the emulation draws the order of threads by; 0: in order.
void set_emulated_order(uint64_t seed);

}  // namespace weft::cuda
