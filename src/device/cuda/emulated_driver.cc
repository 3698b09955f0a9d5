// A GPU on the host: two devices whose memory is the process's at other addresses, and kernels that are
// compiled for the host from the text that GPUs get.
#include <fmt/format.h>

#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "codegen/prelude.h"
#include "device/cuda/driver.h"
#include "device/cuda/emulated_threads.h"
#include "runtime/toolchain.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kUsualMemory = size_t{4} << 30, kUsualPinned = size_t{1} << 30;
constexpr uintptr_t kFarBit = uintptr_t{1} << 63;

// The process's address of the device's.
template <class T>
T* real(T* far) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(far) ^ kFarBit);
}

struct State {
  std::mutex mutex;  // one call at a time, as on a stream
  std::map<void*, size_t> blocks[2];
  size_t memory = kUsualMemory, used[2] = {};
  uint64_t seed = 1;
  // Of the thread that records, if one does.
  std::recursive_mutex submitting;
  std::vector<std::function<void()>>* recorded = nullptr;
  DeviceFacts facts[2];
  // Copies from and to pinned memory are done as late as they can be: when something waits for them, or more
  // work comes that is no such copy.
  std::deque<std::function<void()>> started;
  uint64_t given = 0, done = 0;
  std::map<void*, size_t> pinned;
  size_t pinned_memory = kUsualPinned, pinned_used = 0;
  // What a test says that kernels and calls of libraries take; 0: as long as they do.
  double kernel_ms = 0, library_ms = 0, said_ms = 0;
};
struct EmulatedEvent {
  Clock::time_point time;
  double said_ms;
  uint64_t given;  // copies that were started before it
};
State& state() {
  static State& instance = *new State;
  return instance;
}

// GPUs raise no flags of the processor.
template <class Work>
auto without_flags(const Work& work) {
  std::fenv_t flags;
  std::feholdexcept(&flags);
  const auto result = work();
  std::fesetenv(&flags);
  return result;
}

class EmulatedModule final : public LoadedModule {
 public:
  explicit EmulatedModule(std::shared_ptr<const runtime::Module> module) : module_(std::move(module)) {}
  void* function(const std::string& name) const override { return module_->symbol(name + "_emulated"); }

 private:
  std::shared_ptr<const runtime::Module> module_;
};

class EmulatedDriver final : public Driver {
 public:
  EmulatedDriver() {
    for (DeviceFacts& facts : state().facts) facts = {"emulated", 9, 0, 4, true, kUsualMemory};
  }
  std::string why_unavailable() const override { return {}; }
  int device_count() const override { return 2; }
  const DeviceFacts& facts(int device) const override { return state().facts[device]; }
  bool is_emulated() const override { return true; }

  void* allocate(size_t nbytes, int device) const override {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    if (s.used[device] + nbytes > s.memory) return nullptr;
    const size_t whole = (nbytes + 255) / 256 * 256;
    void* data = std::aligned_alloc(256, whole);
    if (data == nullptr) return nullptr;
    std::memset(data, 0xCB, std::min(whole, size_t{1} << 20));  // what reads it unwritten shows
    s.used[device] += nbytes;
    s.blocks[device][data] = nbytes;
    return real(data);
  }
  void release(void* data, int device) const noexcept override {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    const auto found = s.blocks[device].find(real(data));
    if (found == s.blocks[device].end()) return;
    s.used[device] -= found->second;
    s.blocks[device].erase(found);
    std::free(real(data));
  }
  size_t free_memory(int device) const override {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    return s.memory - std::min(s.memory, s.used[device]);
  }
  void copy_to_device(void* to, const void* from, size_t nbytes, int device) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    refuse_recording("a copy to the GPU", device);
    finish(state().given);
    std::memcpy(real(to), from, nbytes);
  }
  void copy_to_host(void* to, const void* from, size_t nbytes, int device) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    refuse_recording("a copy to the host", device);
    finish(state().given);
    std::memcpy(to, real(from), nbytes);
  }
  void copy_within(void* to, const void* from, size_t nbytes, int) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    give([=] { std::memmove(real(to), real(from), nbytes); });
  }

  void* allocate_pinned(size_t nbytes, int) const override {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    if (s.pinned_used + nbytes > s.pinned_memory) return nullptr;
    void* data = std::aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);
    if (data == nullptr) return nullptr;
    std::memset(data, 0xCB, nbytes);
    s.pinned_used += nbytes;
    s.pinned[data] = nbytes;
    return data;
  }
  void release_pinned(void* data, int) const noexcept override {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    const auto found = s.pinned.find(data);
    s.pinned_used -= found->second;
    s.pinned.erase(found);
    std::free(data);
  }
  void start_copy_to_device(void* to, const void* from, size_t nbytes, int device) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    refuse_recording("a copy to the GPU", device);
    require_pinned(from, nbytes);
    start([=] { std::memcpy(real(to), from, nbytes); });
  }
  void start_copy_to_host(void* to, const void* from, size_t nbytes, int device) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    refuse_recording("a copy to the host", device);
    require_pinned(to, nbytes);
    start([=] { std::memcpy(to, real(from), nbytes); });
  }

  void* stream(int device) const override { return &state().facts[device]; }
  std::shared_ptr<void> record(int device) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    refuse_recording("an event", device);
    return std::make_shared<EmulatedEvent>(EmulatedEvent{Clock::now(), state().said_ms, state().given});
  }
  void wait(int device, void*) const override { refuse_recording("waiting for another device", device); }
  void wait_here(int, void* event) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    finish(static_cast<EmulatedEvent*>(event)->given);
  }
  // Work goes on while somebody asks.
  bool has_passed(int, void* event) const override {
    const std::unique_lock<std::recursive_mutex> submission(state().submitting, std::try_to_lock);
    if (!submission) return false;
    const uint64_t given = static_cast<EmulatedEvent*>(event)->given;
    if (state().done < given) finish(state().done + 1);
    return state().done >= given;
  }
  void synchronize(int device) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    refuse_recording("waiting for the GPU", device);
    finish(state().given);
  }
  bool records() const override { return true; }
  std::unique_lock<std::recursive_mutex> submitting(int) const override {
    return std::unique_lock<std::recursive_mutex>(state().submitting);
  }
  bool is_recording(int) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    return state().recorded != nullptr;
  }
  void refuse_recording(const char* what, int) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    if (state().recorded != nullptr)
      throw_error(ErrorKind::Runtime, fmt::format("cuda: {} cannot be recorded", what));
  }
  void begin_recording(int) const override {
    state().submitting.lock();
    state().recorded = new Recorded;
  }
  std::shared_ptr<void> end_recording(int, bool keep) const override {
    std::shared_ptr<Recorded> recorded(state().recorded);
    state().recorded = nullptr;
    state().submitting.unlock();
    return keep ? recorded : nullptr;
  }
  void repeat(void* recording, int) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    for (const std::function<void()>& work : *static_cast<const Recorded*>(recording)) give(work);
  }
  double elapsed_ms(void* from, void* to) const override {
    const auto &begin = *static_cast<EmulatedEvent*>(from), &end = *static_cast<EmulatedEvent*>(to);
    if (end.said_ms > begin.said_ms) return end.said_ms - begin.said_ms;
    return std::chrono::duration<double, std::milli>(end.time - begin.time).count();
  }

  CompiledModule load(const std::string& name, const std::string& source, std::string_view toolchain,
                      int) const override {
    const runtime::LoadedKernel loaded =
        runtime::load_kernel(codegen::compile_request(name, source), toolchain);
    return {std::make_shared<EmulatedModule>(loaded.module), loaded.compile_ms, loaded.compile_ms == 0};
  }
  void launch(const std::string& name, void* function, const Launch& launch, int) const override {
    std::vector<void*> values(launch.is_address.size());
    for (size_t k = 0; k < values.size(); ++k) {
      void* value = *static_cast<void**>(launch.parameters[k]);
      values[k] = launch.is_address[k] && value != nullptr ? real(value) : value;
    }
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    give([name, function, values = std::move(values), blocks = launch.blocks, waits = launch.waits,
          shared = launch.shared] {
      std::vector<void*> parameters;
      for (void* const& value : values) parameters.push_back(const_cast<void**>(&value));
      run(name, function, parameters.data(), {blocks, waits, shared});
    });
  }
  int call_library(const std::string& name, const std::function<int(void*)>& call,
                   int device) const override {
    const std::lock_guard<std::recursive_mutex> submission(state().submitting);
    const bool is_recorded = state().recorded != nullptr;
    int status = 0;
    give([name, call, is_recorded, own = &status, on = stream(device)] {
      state().said_ms += state().library_ms;
      const int given = without_flags([&] { return call(on); });
      if (!is_recorded)
        *own = given;
      else if (given != 0)
        throw_error(ErrorKind::Runtime, fmt::format("cuda: {} failed when it was repeated: {}", name, given));
    });
    return status;
  }

 private:
  using Recorded = std::vector<std::function<void()>>;

  static void give(const std::function<void()>& work) {
    if (state().recorded != nullptr) {
      state().recorded->push_back(work);
      return;
    }
    finish(state().given);
    work();
  }
  static void start(std::function<void()> copy) {
    state().started.push_back(std::move(copy));
    ++state().given;
  }
  // All of the copies before this number.
  static void finish(uint64_t number) {
    State& s = state();
    for (; s.done < number; ++s.done) {
      s.started.front()();
      s.started.pop_front();
    }
  }
  static void require_pinned(const void* data, size_t nbytes) {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    const auto after = s.pinned.upper_bound(const_cast<void*>(data));
    const char* const end = static_cast<const char*>(data) + nbytes;
    WEFT_ASSERT(after != s.pinned.begin() &&
                    end <= static_cast<char*>(std::prev(after)->first) + std::prev(after)->second,
                "memory of a copy that is not waited for is pinned");
  }

  static void run(const std::string& name, void* function, void* const* parameters,
                  const EmulatedLaunch& launch) {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    s.said_ms += s.kernel_ms;
    const bool is_done = without_flags(
        [&] { return run_blocks(reinterpret_cast<EmulatedEntry>(function), parameters, launch, s.seed); });
    if (s.seed != 0) s.seed = s.seed * 6364136223846793005u + 1442695040888963407u;
    if (!is_done)
      throw_error(ErrorKind::Runtime,
                  fmt::format("cuda: kernel '{}' failed: some threads of a block wait at a barrier that "
                              "others never come to",
                              name));
  }
};

}  // namespace

const Driver& emulated_driver() {
  static const EmulatedDriver& instance = *new EmulatedDriver;
  return instance;
}

void set_emulated_memory(size_t bytes) {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.memory = bytes != 0 ? bytes : kUsualMemory;
}

void set_emulated_pinned_memory(size_t bytes) {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.pinned_memory = bytes != 0 ? bytes : kUsualPinned;
}

void set_emulated_times(double kernel_ms, double library_ms) {
  const std::lock_guard<std::recursive_mutex> submission(state().submitting);
  state().kernel_ms = kernel_ms, state().library_ms = library_ms;
}

void set_emulated_order(uint64_t seed) {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.seed = seed;
}

}  // namespace weft::cuda
