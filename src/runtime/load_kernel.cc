// From a request to loaded code: memory cache, disk cache, toolchain.
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/profiling.h"
#include "runtime/clang_toolchain.h"
#include "runtime/cxx_toolchain.h"
#include "runtime/disk_cache.h"
#include "runtime/log.h"
#include "runtime/module.h"
#include "runtime/toolchain.h"
#include "runtime/under_way.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

// Held while the kernel is made, so that threads which want the same one wait for it.
struct Slot {
  std::mutex mutex;
  std::weak_ptr<const Module> module;
};

// Finds every module that somebody refers to, and keeps those that were asked for last.
class MemoryCache {
 public:
  std::shared_ptr<Slot> slot(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (slots_.size() >= sweep_at_) sweep();
    std::shared_ptr<Slot>& found = slots_[key];
    if (found == nullptr) found = std::make_shared<Slot>();
    return found;
  }

  void keep(const std::shared_ptr<const Module>& module) {
    std::shared_ptr<const Module> oldest;  // ends without the lock
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = std::find(kept_.begin(), kept_.end(), module);
    if (known != kept_.end()) {
      std::rotate(known, known + 1, kept_.end());
      return;
    }
    if (kept_.size() == kMostKept) {
      oldest = std::move(kept_.front());
      kept_.pop_front();
    }
    kept_.push_back(module);
  }

  void clear() {
    std::deque<std::shared_ptr<const Module>> kept;  // ends without the lock
    const std::lock_guard<std::mutex> lock(mutex_);
    kept.swap(kept_);
    slots_.clear();
  }

 private:
  static constexpr size_t kMostKept = 256, kFewestSlots = 1024;

  // Slots of modules that are no more. What only the map holds, nobody waits for.
  void sweep() {
    std::erase_if(slots_, [](const auto& entry) {
      const std::shared_ptr<Slot>& slot = entry.second;
      if (slot.use_count() > 1) return false;
      const std::lock_guard<std::mutex> lock(slot->mutex);
      return slot->module.expired();
    });
    sweep_at_ = std::max(kFewestSlots, 2 * slots_.size());
  }

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Slot>> slots_;
  size_t sweep_at_ = kFewestSlots;
  std::deque<std::shared_ptr<const Module>> kept_;  // the one asked for last at the end
};

std::atomic<MemoryCache*> current_cache{nullptr};

// A child of fork() starts an empty one: threads that held locks of the old do not exist there. Registered as
// the library is loaded (under_way.cc says why).
[[maybe_unused]] const int cache_at_fork =
    pthread_atfork(nullptr, nullptr, [] { current_cache.store(new MemoryCache); });

MemoryCache& memory_cache() {
  MemoryCache* cache = current_cache.load();
  if (cache != nullptr) return *cache;
  auto made = std::make_unique<MemoryCache>();
  if (current_cache.compare_exchange_strong(cache, made.get())) return *made.release();
  return *cache;
}

std::string wanted_name(std::string_view name) {
  return name.empty() ? env::get("WEFT_TOOLCHAIN") : std::string(name);
}

std::vector<const Toolchain*> candidates(std::string_view name) {
  const std::string wanted = wanted_name(name);
  std::vector<const Toolchain*> found;
  for (const Toolchain* toolchain : toolchains()) {
    if (wanted == "auto" || wanted == toolchain->name()) found.push_back(toolchain);
  }
  WEFT_CHECK(!found.empty(), fmt::format("toolchain: expected auto, clang or c++, got '{}'", wanted));
  return found;
}

void log_cache(const CompileRequest& request, std::string_view what) {
  if (log::enabled(log::Channel::Cache))
    log::write(log::Channel::Cache, fmt::format("{}: {}", request.name, what));
}

std::shared_ptr<const Module> load_from_disk(const CompileRequest& request, const std::string& key) {
  const profiling::Span span([&] { return "disk cache " + request.name; }, profiling::Kind::Compile);
  return disk_cache_load(request.name, key);
}

LoadedKernel make_kernel(const CompileRequest& request, std::string_view toolchain_name,
                         const std::vector<const Toolchain*>& choices) {
  for (const Toolchain* choice : choices) {
    const std::string id = choice->id();
    if (id.empty()) continue;
    if (auto module = load_from_disk(request, cache_key(request, id))) {
      log_cache(request, "disk cache");
      return {std::move(module), 0, "disk cache"};
    }
  }
  const Toolchain& chosen = toolchain(toolchain_name);
  const auto start = std::chrono::steady_clock::now();
  const std::string bytes = [&] {
    const profiling::Span span([&] { return "toolchain " + request.name; }, profiling::Kind::Compile);
    return chosen.compile(request);
  }();
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  log_cache(request, fmt::format("compiled by {} in {:.1f} ms", chosen.name(), elapsed.count()));
  const profiling::Span span([&] { return "load " + request.name; }, profiling::Kind::Compile);
  std::shared_ptr<const Module> module =
      disk_cache_store(request.name, cache_key(request, chosen.id()), bytes);
  if (module == nullptr) module = load_module_bytes(bytes, request.name);
  return {std::move(module), elapsed.count(), "compiled"};
}

void check_name(const std::string& name) {
  const bool valid = !name.empty() && name.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_") == std::string::npos;
  WEFT_ASSERT(valid, fmt::format("kernel name '{}' is not of [A-Za-z0-9_]+", name));
}

}  // namespace

std::vector<const Toolchain*> toolchains() { return {&clang_toolchain(), &cxx_toolchain()}; }

const Toolchain& toolchain(std::string_view name) {
  std::string reasons;
  for (const Toolchain* choice : candidates(name)) {
    std::string why_not;
    if (choice->available(&why_not)) return *choice;
    reasons += fmt::format("\n  {}: {}", choice->name(), why_not);
  }
  throw_error(ErrorKind::Runtime, fmt::format("no toolchain to compile kernels with (WEFT_TOOLCHAIN={}):{}",
                                              wanted_name(name), reasons));
}

LoadedKernel load_kernel(const CompileRequest& request, std::string_view toolchain_name) {
  const UnderWay under_way;
  check_name(request.name);
  const std::vector<const Toolchain*> choices = candidates(toolchain_name);
  std::string ids;
  for (const Toolchain* choice : choices) ids += choice->id() + "\n";
  const std::shared_ptr<Slot> slot = memory_cache().slot(cache_key(request, ids));
  const std::lock_guard<std::mutex> lock(slot->mutex);
  if (std::shared_ptr<const Module> module = slot->module.lock()) {
    log_cache(request, "memory cache");
    memory_cache().keep(module);
    return {std::move(module), 0, "memory cache"};
  }
  LoadedKernel kernel = make_kernel(request, toolchain_name, choices);
  slot->module = kernel.module;
  memory_cache().keep(kernel.module);
  return kernel;
}

void clear_memory_cache() { memory_cache().clear(); }

}  // namespace weft::runtime
