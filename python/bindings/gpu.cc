// What tests and tools see of GPUs besides tensors: PTX of kernels, the emulated device, memory.
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "core/backend.h"
#include "device/cuda/driver.h"
#include "device/cuda/memory.h"
#include "device/cuda/pinned.h"
#include "device/cuda/products.h"
#include "device/cuda/ptx.h"
#include "interpreter_lock.h"
#include "weft/error.h"

namespace weft::python {

static std::string why_library_fails(const std::string& library) {
  const std::unique_ptr<const cuda::Driver> driver = cuda::cuda_driver_of(library.c_str());
  if (std::string why = driver->why_unavailable(); !why.empty()) return why;
  try {
    constexpr size_t kBytes = 1 << 20;
    void* data = driver->allocate(kBytes, 0);
    if (data == nullptr) return "no memory";
    char host[64] = {};
    driver->copy_to_device(data, host, sizeof host, 0);
    const cuda::CompiledModule loaded =
        driver->load("nothing",
                     "#ifndef __CUDACC_RTC__\n#define __global__ __attribute__((nvptx_kernel))\n#endif\n"
                     "extern \"C\" __global__ void nothing(char* x) { *x = 1; }",
                     "", 0);
    void* parameters[] = {&data};
    constexpr uint8_t kIsAddress[] = {1};
    driver->launch("nothing", loaded.module->function("nothing"), {1, false, parameters, kIsAddress}, 0);
    driver->copy_to_host(host, data, sizeof host, 0);
    driver->release(data, 0);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

static void bind_events(nb::module_& gpu) {
  nb::class_<Event>(gpu, "Event", "A point in the stream of a device: behind all work that it was given.")
      .def(
          "__init__",
          [](Event* self, int index) {
            const Device device{DeviceType::CUDA, index};
            require_available(device);
            const Backend& backend = backend_of(device);
            const GilRelease released;
            new (self) Event(backend.record(backend.current_stream(index)));
          },
          nb::arg("index") = 0)
      .def_prop_ro("device", [](const Event& event) { return event.device.index; })
      .def_prop_ro("handle",
                   [](const Event& event) { return reinterpret_cast<uintptr_t>(event.handle.get()); })
      .def("query", [](const Event& event) { return backend_of(event.device).has_passed(event); })
      .def("synchronize",
           [](const Event& event) {
             const GilRelease released;
             cuda::driver().wait_here(event.device.index, event.handle.get());
           })
      .def("wait",
           [](const Event& event, int index) {
             const Backend& backend = backend_of({DeviceType::CUDA, index});
             const GilRelease released;
             backend.wait(backend.current_stream(index), event);
           })
      .def("elapsed_ms", [](const Event& event, const Event& end) {
        const GilRelease released;
        return backend_of(event.device).elapsed_ms(event, end);
      });
}

void bind_gpu(nb::module_& m) {
  nb::module_ gpu = m.def_submodule("_gpu");
  gpu.def("why_unavailable", [] { return cuda::driver().why_unavailable(); });
  gpu.def("is_emulated", [] { return cuda::driver().is_emulated(); });
  gpu.def("device_count", [] {
    const cuda::Driver& driver = cuda::driver();
    return driver.why_unavailable().empty() ? driver.device_count() : 0;
  });
  gpu.def(
      "facts",
      [](int index) {
        require_available({DeviceType::CUDA, index});
        const cuda::DeviceFacts& facts = cuda::driver().facts(index);
        nb::dict result;
        result["name"] = facts.name;
        result["capability"] = nb::make_tuple(facts.major, facts.minor);
        result["multiprocessors"] = facts.multiprocessors;
        result["memory"] = facts.memory;
        return result;
      },
      nb::arg("index") = 0);
  gpu.def(
      "memory",
      [](int index) {
        require_available({DeviceType::CUDA, index});
        const cuda::MemoryStats stats = cuda::memory_stats(index);
        nb::dict result;
        result["used"] = stats.used;
        result["cached"] = stats.cached;
        result["allocations"] = stats.allocations;
        result["most_used"] = stats.most_used;
        result["most_reserved"] = stats.most_reserved;
        return result;
      },
      nb::arg("index") = 0,
      "Bytes of tensors, bytes kept for reuse, how often the driver was asked, and the most bytes\n"
      "of tensors, and of both, since reset_peak().");
  gpu.def(
      "reset_peak",
      [](int index) {
        require_available({DeviceType::CUDA, index});
        cuda::reset_peak_memory(index);
      },
      nb::arg("index") = 0);
  gpu.def(
      "free_memory",
      [](int index) {
        require_available({DeviceType::CUDA, index});
        return cuda::driver().free_memory(index);
      },
      nb::arg("index") = 0);
  gpu.def(
      "empty_cache",
      [](int index) {
        require_available({DeviceType::CUDA, index});
        cuda::release_kept_memory(index);
        cuda::release_kept_pinned();
      },
      nb::arg("index") = 0);
  gpu.def(
      "synchronize",
      [](int index) {
        require_available({DeviceType::CUDA, index});
        const GilRelease released;
        const Backend& backend = backend_of({DeviceType::CUDA, index});
        backend.synchronize(backend.current_stream(index));
      },
      nb::arg("index") = 0);
  gpu.def(
      "stream",
      [](int index) {
        require_available({DeviceType::CUDA, index});
        return reinterpret_cast<uintptr_t>(cuda::driver().stream(index));
      },
      nb::arg("index") = 0, "The driver's handle of the device's stream.");
  bind_events(gpu);
  gpu.def(
      "ptx",
      [](const std::string& name, const std::string& source, int capability, const std::string& compiler) {
        const cuda::PtxTarget target = cuda::ptx_target(capability, 1 << 30);
        WEFT_CHECK(target.capability == capability,
                   "ptx: expected 70, 75, 80, 86, 89 or 90, the GPUs that the compiler knows, got " +
                       std::to_string(capability));
        const GilRelease released;
        return cuda::compile_to_ptx(name, source, target, compiler);
      },
      nb::arg("name"), nb::arg("source"), nb::arg("capability") = 80, nb::arg("compiler") = "",
      "A kernel's text (WEFT_DUMP has it) as PTX, by clang, nvrtc or what WEFT_CUDA_COMPILER says.");
  gpu.def("allow_tf32", &cuda::allow_tf32, nb::arg("allowed"),
          "May matrix products of float32 round their operands to TF32 on GPUs?");
  gpu.def("allows_tf32", &cuda::allows_tf32, "What allow_tf32 said.");
  gpu.def("set_emulated_memory", &cuda::set_emulated_memory, nb::arg("bytes"),
          "Memory of each emulated device; 0: the usual.");
  gpu.def("set_emulated_pinned_memory", &cuda::set_emulated_pinned_memory, nb::arg("bytes"),
          "Memory that can be pinned for the emulated devices; 0: the usual.");
  gpu.def(
      "set_emulated_times", &cuda::set_emulated_times, nb::arg("kernel_ms"), nb::arg("library_ms"),
      "What a kernel and a call of a library take on the emulated devices' clock; 0: as long as they do.");
  gpu.def(
      "pinned_memory",
      [] {
        const cuda::PinnedStats stats = cuda::pinned_stats();
        nb::dict result;
        result["used"] = stats.used;
        result["cached"] = stats.cached;
        return result;
      },
      "Bytes of pinned tensors and of the buffers that copies go through, and bytes kept for reuse.");
  gpu.def("set_emulated_order", &cuda::set_emulated_order, nb::arg("seed"),
          "What the order of emulated threads is drawn by; 0: that of their numbers.");
  gpu.def("why_library_fails", &why_library_fails, nb::arg("library"),
          "What goes wrong with a library in place of libcuda.so.1, up to a kernel's launch; for tests.");
}

}  // namespace weft::python
