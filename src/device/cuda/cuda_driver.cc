// NVIDIA's driver, by dlopen.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "device/cuda/api.h"
#include "device/cuda/driver.h"
#include "device/cuda/ptx.h"
#include "nest/grid.h"
#include "runtime/disk_cache.h"
#include "runtime/log.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::cuda {

api::Api api::load(const char* library) {
  Api api;
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    api.problem = fmt::format("there is no NVIDIA driver: {}", reason != nullptr ? reason : library);
    return api;
  }
#define WEFT_CUDA_FIND(NAME, PARAMETERS)                                   \
  api.NAME = reinterpret_cast<decltype(api.NAME)>(::dlsym(handle, #NAME)); \
  if (api.NAME == nullptr && api.problem.empty())                          \
    api.problem = fmt::format("the NVIDIA driver is too old: {} has no {}", library, #NAME);
  WEFT_CUDA_FUNCTIONS(WEFT_CUDA_FIND)
#undef WEFT_CUDA_FIND
#define WEFT_CUDA_FIND_NEWER(NAME, PARAMETERS) \
  api.NAME = reinterpret_cast<decltype(api.NAME)>(::dlsym(handle, #NAME));
  WEFT_CUDA_NEWER_FUNCTIONS(WEFT_CUDA_FIND_NEWER)
#undef WEFT_CUDA_FIND_NEWER
  return api;
}

namespace {

constexpr size_t kRemembered = 8;  // kernels that a failure may be of

struct CudaDevice {
  DeviceFacts facts;
  api::Context context = nullptr;
  api::StreamHandle stream = nullptr;
  PtxTarget target{};
  std::string problem;
  std::once_flag opened;
  std::recursive_mutex submitting;  // held by the thread that records
  bool is_recording = false;
  std::mutex mutex;
  std::deque<std::string> launched;  // since the last synchronization
};

std::string text_of(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// Work is given to a device by one thread at a time, and none by others while one records.
class Submission {
 public:
  // `waits`: what this is, that cannot be recorded.
  explicit Submission(CudaDevice& device, const char* waits = nullptr) : lock_(device.submitting) {
    if (device.is_recording && waits != nullptr)
      throw_error(ErrorKind::Runtime, fmt::format("cuda: {} cannot be recorded", waits));
  }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

class CudaDriver final : public Driver {
 public:
  explicit CudaDriver(const char* library) : api_(api::load(library)), problem_(api_.problem) {
    if (!problem_.empty()) return;
    const api::Result started = api_.cuInit(0);
    if (started == api::kNoDevice) {
      problem_ = "the NVIDIA driver finds no GPU";
    } else if (started != api::kSuccess) {
      problem_ = fmt::format("the NVIDIA driver does not start: {}", error_text(started));
    } else {
      check(api_.cuDriverGetVersion(&version_), "asking for the driver's version");
      check(api_.cuDeviceGetCount(&count_), "counting GPUs");
      if (count_ == 0) problem_ = "the NVIDIA driver finds no GPU";
      for (int k = 0; k < count_; ++k) devices_.push_back(std::make_unique<CudaDevice>());
      if (newest_ptx(version_) < 60)
        problem_ = fmt::format(
            "the NVIDIA driver is too old: it is of CUDA {} and reads PTX {}, weft's "
            "kernels are PTX 6.0 or newer (CUDA 9.0)",
            text_of(version_), newest_ptx(version_) / 10.0);
    }
  }

  std::string why_unavailable() const override { return problem_; }
  int device_count() const override { return count_; }
  const DeviceFacts& facts(int device) const override { return use(device).facts; }

  void* allocate(size_t nbytes, int device) const override {
    use(device);
    api::Address data = 0;
    const api::Result result = api_.cuMemAlloc_v2(&data, nbytes);
    if (result == api::kOutOfMemory) return nullptr;
    check(result, "allocating memory", device);
    return reinterpret_cast<void*>(data);
  }
  void release(void* data, int device) const noexcept override {
    api_.cuCtxSetCurrent(at(device).context);
    api_.cuMemFree_v2(reinterpret_cast<api::Address>(data));
  }
  size_t free_memory(int device) const override {
    use(device);
    size_t free = 0, total = 0;
    check(api_.cuMemGetInfo_v2(&free, &total), "asking for free memory", device);
    return free;
  }

  void copy_to_device(void* to, const void* from, size_t nbytes, int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d, "a copy to the GPU");
    check(api_.cuMemcpyHtoDAsync_v2(reinterpret_cast<api::Address>(to), from, nbytes, d.stream),
          "copying to the GPU", device);
    // Of memory that may be paged out, the driver has taken a copy; pinned memory it still reads.
    unsigned kind = 0;
    if (api_.cuPointerGetAttribute(&kind, api::kPointerMemoryType, reinterpret_cast<api::Address>(from)) ==
        api::kSuccess)
      synchronize(device);
  }
  void copy_to_host(void* to, const void* from, size_t nbytes, int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d, "a copy to the host");
    check(api_.cuMemcpyDtoHAsync_v2(to, reinterpret_cast<api::Address>(from), nbytes, d.stream),
          "copying from the GPU", device);
    synchronize(device);
  }
  void copy_within(void* to, const void* from, size_t nbytes, int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d);
    check(api_.cuMemcpyDtoDAsync_v2(reinterpret_cast<api::Address>(to), reinterpret_cast<api::Address>(from),
                                    nbytes, d.stream),
          "copying within the GPU", device);
  }

  void* allocate_pinned(size_t nbytes, int device) const override {
    use(device);
    void* data = nullptr;
    const api::Result result = api_.cuMemHostAlloc(&data, nbytes, api::kPinnedPortable);
    // None left, or a system that lets the process have none.
    if (result == api::kOutOfMemory || result == api::kOfSystem || result == api::kNotPermitted ||
        result == api::kNotSupported)
      return nullptr;
    check(result, "pinning memory", device);
    return data;
  }
  void release_pinned(void* data, int device) const noexcept override {
    api_.cuCtxSetCurrent(at(device).context);
    api_.cuMemFreeHost(data);
  }
  void start_copy_to_device(void* to, const void* from, size_t nbytes, int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d, "a copy to the GPU");
    check(api_.cuMemcpyHtoDAsync_v2(reinterpret_cast<api::Address>(to), from, nbytes, d.stream),
          "copying to the GPU", device);
  }
  void start_copy_to_host(void* to, const void* from, size_t nbytes, int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d, "a copy to the host");
    check(api_.cuMemcpyDtoHAsync_v2(to, reinterpret_cast<api::Address>(from), nbytes, d.stream),
          "copying from the GPU", device);
  }

  void* stream(int device) const override { return use(device).stream; }
  std::shared_ptr<void> record(int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d, "an event");
    api::EventHandle event = nullptr;
    check(api_.cuEventCreate(&event, 0), "making an event", device);
    std::shared_ptr<void> owned(event, [this](void* e) { api_.cuEventDestroy_v2(e); });
    check(api_.cuEventRecord(event, d.stream), "recording an event", device);
    return owned;
  }
  void wait(int device, void* event) const override {
    CudaDevice& d = use(device);
    const Submission submission(d, "waiting for another device");
    check(api_.cuStreamWaitEvent(d.stream, event, 0), "waiting for an event", device);
  }
  void wait_here(int device, void* event) const override {
    use(device);
    check(api_.cuEventSynchronize(event), "waiting for the GPU", device);
  }
  bool has_passed(int device, void* event) const override {
    use(device);
    const api::Result state = api_.cuEventQuery(event);
    if (state != api::kNotReady) check(state, "asking for an event", device);
    return state == api::kSuccess;
  }
  void synchronize(int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d, "waiting for the GPU");
    check(api_.cuStreamSynchronize(d.stream), "waiting for the GPU", device);
    const std::lock_guard<std::mutex> lock(d.mutex);
    d.launched.clear();
  }
  double elapsed_ms(void* from, void* to) const override {
    float milliseconds = 0;
    check(api_.cuEventSynchronize(to), "waiting for an event");
    check(api_.cuEventElapsedTime(&milliseconds, from, to), "reading events");
    return static_cast<double>(milliseconds);
  }

  bool records() const override {
    return api_.cuGraphInstantiateWithFlags != nullptr && api_.cuStreamBeginCapture_v2 != nullptr;
  }
  std::unique_lock<std::recursive_mutex> submitting(int device) const override {
    return std::unique_lock<std::recursive_mutex>(use(device).submitting);
  }
  bool is_recording(int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d);
    return d.is_recording;
  }
  void refuse_recording(const char* what, int device) const override { Submission(use(device), what); }
  void begin_recording(int device) const override {
    CudaDevice& d = use(device);
    d.submitting.lock();
    const api::Result result = api_.cuStreamBeginCapture_v2(d.stream, api::kCaptureRelaxed);
    d.is_recording = result == api::kSuccess;
    if (!d.is_recording) d.submitting.unlock();
    check(result, "recording work", device);
  }
  std::shared_ptr<void> end_recording(int device, bool keep) const override {
    CudaDevice& d = use(device);
    api::Graph graph = nullptr;
    const api::Result ended = api_.cuStreamEndCapture(d.stream, &graph);
    d.is_recording = false;
    d.submitting.unlock();
    const auto destroy = [&](void* g) {
      if (g != nullptr) api_.cuGraphDestroy(g);
    };
    const std::unique_ptr<void, decltype(destroy)> owner(graph, destroy);
    if (!keep) return nullptr;
    check(ended, "recording work", device);
    api::GraphExec exec = nullptr;
    check(api_.cuGraphInstantiateWithFlags(&exec, graph, 0), "preparing recorded work", device);
    return {exec, [this, device](void* e) {
              api_.cuCtxSetCurrent(at(device).context);
              api_.cuGraphExecDestroy(e);
            }};
  }
  void repeat(void* recording, int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d);
    check(api_.cuGraphLaunch(recording, d.stream), "launching recorded work", device);
  }

  CompiledModule load(const std::string& name, const std::string& source, std::string_view,
                      int device) const override {
    const CudaDevice& d = use(device);
    const auto start = std::chrono::steady_clock::now();
    const std::string key = cache_key(source, d.target);
    std::optional<std::string> code = runtime::disk_cache_read(name, key);
    const bool from_cache = code.has_value();
    if (!code) {
      code = assemble(name, compile_to_ptx(name, source, d.target), device);
      runtime::disk_cache_write(name, key, *code);
    }
    api::ModuleHandle module = nullptr;
    check(api_.cuModuleLoadData(&module, code->data()), fmt::format("loading kernel '{}'", name), device);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    runtime_log(name, from_cache, elapsed.count());
    return {std::make_shared<Module>(*this, module, name, device), from_cache ? 0 : elapsed.count(),
            from_cache};
  }

  void launch(const std::string& name, void* function, const Launch& launch, int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d);
    note_launch(d, name);
    constexpr int64_t kMostByItself = int64_t{48} << 10;
    if (launch.shared > kMostByItself)
      check(api_.cuFuncSetAttribute(function, api::kMostLaunchShared, static_cast<int>(launch.shared)),
            fmt::format("giving shared memory to kernel '{}'", name), device);
    check(api_.cuLaunchKernel(function, static_cast<unsigned>(launch.blocks), 1, 1, nest::kGridThreads, 1, 1,
                              static_cast<unsigned>(launch.shared), d.stream,
                              const_cast<void**>(launch.parameters), nullptr),
          fmt::format("launching kernel '{}'", name), device);
    wait_if_blocking(d, name, device);
  }

  int call_library(const std::string& name, const std::function<int(void*)>& call,
                   int device) const override {
    CudaDevice& d = use(device);
    const Submission submission(d);
    note_launch(d, name);
    const int status = call(d.stream);
    if (status == 0) wait_if_blocking(d, name, device);
    return status;
  }

 private:
  api::Api api_;
  std::string problem_;
  int version_ = 0, count_ = 0;
  std::vector<std::unique_ptr<CudaDevice>> devices_;

  class Module final : public LoadedModule {
   public:
    Module(const CudaDriver& driver, api::ModuleHandle module, std::string name, int device)
        : driver_(driver), module_(module), name_(std::move(name)), device_(device) {}
    ~Module() override {
      driver_.api_.cuCtxSetCurrent(driver_.at(device_).context);
      driver_.api_.cuModuleUnload(module_);
    }
    void* function(const std::string& name) const override {
      driver_.use(device_);
      api::Function function = nullptr;
      driver_.check(driver_.api_.cuModuleGetFunction(&function, module_, name.c_str()),
                    fmt::format("finding kernel '{}'", name), device_);
      return function;
    }

   private:
    const CudaDriver& driver_;
    api::ModuleHandle module_;
    std::string name_;
    int device_;
  };

  static void note_launch(CudaDevice& d, const std::string& name) {
    const std::lock_guard<std::mutex> lock(d.mutex);
    if (d.launched.empty() || d.launched.back() != name) d.launched.push_back(name);
    if (d.launched.size() > kRemembered) d.launched.pop_front();
  }
  void wait_if_blocking(const CudaDevice& d, const std::string& name, int device) const {
    static const bool is_blocking = env::flag("WEFT_CUDA_BLOCKING");
    if (is_blocking && !d.is_recording)
      check(api_.cuStreamSynchronize(d.stream), fmt::format("kernel '{}'", name), device, /*one=*/true);
  }

  CudaDevice& at(int device) const { return *devices_[static_cast<size_t>(device)]; }

  // Makes the device the calling thread's; opened by the first call.
  CudaDevice& use(int device) const {
    if (!problem_.empty()) throw_error(ErrorKind::Runtime, "cuda: " + problem_);
    CudaDevice& d = at(device);
    std::call_once(d.opened, [&] { open(d, device); });
    if (!d.problem.empty()) throw_error(ErrorKind::Runtime, "cuda: " + d.problem);
    check(api_.cuCtxSetCurrent(d.context), "using the GPU", device);
    return d;
  }

  void open(CudaDevice& d, int device) const {
    api::DeviceId id = 0;
    check(api_.cuDeviceGet(&id, device), "finding the GPU");
    char name[256] = {};
    check(api_.cuDeviceGetName(name, sizeof name - 1, id), "asking for the GPU's name");
    d.facts.name = name;
    const auto attribute = [&](int which) {
      int value = 0;
      check(api_.cuDeviceGetAttribute(&value, which, id), "asking what the GPU is");
      return value;
    };
    d.facts.major = attribute(api::kCapabilityMajor);
    d.facts.minor = attribute(api::kCapabilityMinor);
    d.facts.multiprocessors = std::max(1, attribute(api::kMultiprocessors));
    check(api_.cuDeviceTotalMem_v2(&d.facts.memory, id), "asking for the GPU's memory");
    const int capability = d.facts.major * 10 + d.facts.minor;
    d.facts.has_wgmma = capability == kSm90a.capability && newest_ptx(version_) >= kSm90a.version;
    d.target = ptx_target(capability, version_);
    if (d.target.capability == 0) {
      d.problem = fmt::format(
          "{} (sm_{}) cannot be used with a driver of CUDA {}: weft's kernels are for sm_70 and newer",
          d.facts.name, capability, text_of(version_));
      return;
    }
    if (const PtxTarget best = ptx_target(capability, 1 << 30); best.capability != d.target.capability)
      log::warning(fmt::format(
          "cuda: the driver is of CUDA {} and reads PTX {:.1f}; kernels for {} would be PTX {:.1f}: "
          "they are compiled for sm_{} instead",
          text_of(version_), newest_ptx(version_) / 10.0, d.facts.name, best.version / 10.0,
          d.target.capability));
    check(api_.cuDevicePrimaryCtxRetain(&d.context, id), "opening the GPU");
    check(api_.cuCtxSetCurrent(d.context), "using the GPU");
    check(api_.cuStreamCreate(&d.stream, api::kStreamNonBlocking), "making a stream");
  }

  std::string error_text(api::Result result) const {
    const char *name = nullptr, *text = nullptr;
    api_.cuGetErrorName(result, &name);
    api_.cuGetErrorString(result, &text);
    return fmt::format("{} ({})", text != nullptr ? text : "unknown error", name != nullptr ? name : "?");
  }

  // `one`: nothing else can have failed.
  void check(api::Result result, const std::string& what, int device = -1, bool one = false) const {
    if (result == api::kSuccess) return;
    std::string message = fmt::format("cuda: {} failed: {}", what, error_text(result));
    if (device >= 0 && !one) {
      CudaDevice& d = at(device);
      const std::lock_guard<std::mutex> lock(d.mutex);
      if (!d.launched.empty()) {
        message += "\n  kernels launched before: ";
        for (size_t k = 0; k < d.launched.size(); ++k) message += (k ? ", " : "") + d.launched[k];
        message += "\n  WEFT_CUDA_BLOCKING=1 waits for each, and names the one that failed";
      }
    }
    throw_error(ErrorKind::Runtime, std::move(message));
  }

  std::string cache_key(const std::string& source, PtxTarget target) const {
    const std::string all = fmt::format("cuda {} {} {} {}\n{}", version_, target.capability, target.version,
                                        ptx_compiler().id(), source);
    const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

  // The driver makes machine code of PTX.
  std::string assemble(const std::string& name, const std::string& ptx, int device) const {
    log::dump(name + ".ptx", ptx);
    char errors[8192] = {};
    int options[] = {api::kErrorLog, api::kErrorLogSize};
    void* values[] = {errors, reinterpret_cast<void*>(sizeof errors)};
    api::LinkState state = nullptr;
    check(api_.cuLinkCreate_v2(2, options, values, &state), "starting the driver's assembler", device);
    const auto destroy = [&](void*) { api_.cuLinkDestroy(state); };
    const std::unique_ptr<void, decltype(destroy)> owner(state, destroy);
    const api::Result added = api_.cuLinkAddData_v2(state, api::kInputPtx, const_cast<char*>(ptx.c_str()),
                                                    ptx.size() + 1, name.c_str(), 0, nullptr, nullptr);
    void* cubin = nullptr;
    size_t size = 0;
    const api::Result result = added == api::kSuccess ? api_.cuLinkComplete(state, &cubin, &size) : added;
    if (result != api::kSuccess)
      throw_error(ErrorKind::Runtime, fmt::format("cuda: assembling kernel '{}' failed: {}\n{}", name,
                                                  error_text(result), errors));
    return {static_cast<const char*>(cubin), size};
  }

  static void runtime_log(const std::string& name, bool from_cache, double milliseconds) {
    if (log::enabled(log::Channel::Cache))
      log::write(log::Channel::Cache,
                 from_cache ? fmt::format("{}: disk cache", name)
                            : fmt::format("{}: compiled for the GPU in {:.1f} ms", name, milliseconds));
  }
};

}  // namespace

const Driver& cuda_driver() {
  static const CudaDriver& instance = *new CudaDriver("libcuda.so.1");
  return instance;
}

std::unique_ptr<const Driver> cuda_driver_of(const char* library) {
  return std::make_unique<CudaDriver>(library);
}

}  // namespace weft::cuda
