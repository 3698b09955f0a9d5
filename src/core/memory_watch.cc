#include "core/memory_watch.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace weft {
namespace {

class Watches {
 public:
  static Watches& instance() {
    static Watches& instance = *new Watches;  // never destroyed: storages may outlive static objects
    return instance;
  }

  void add(const Storage* storage, MemoryWatch* watch) {
    const std::lock_guard lock(mutex_);
    watches_[storage].push_back(watch);
    if (++in_group_[group_of(storage)] == 1) has_watches(storage).store(true);
    if (exposed(storage)) watch->change();
  }

  void remove(const Storage* storage, MemoryWatch* watch) {
    const std::lock_guard lock(mutex_);
    const auto found = watches_.find(storage);
    found->second.erase(std::find(found->second.begin(), found->second.end(), watch));
    if (found->second.empty()) watches_.erase(found);
    if (--in_group_[group_of(storage)] == 0) has_watches(storage).store(false);
  }

  // Most storages are not watched, which one load tells.
  void change(const Storage* storage) {
    if (!has_watches(storage).load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (const auto found = watches_.find(storage); found != watches_.end())
      for (MemoryWatch* watch : found->second) watch->change();
  }

  void expose(const std::shared_ptr<Storage>& storage) {
    {
      const std::lock_guard lock(mutex_);
      exposed_[storage.get()] = storage;
      if (exposed_.size() > most_exposed_) forget_ended();
    }
    change(storage.get());
  }

  bool is_exposed(const Storage* storage) {
    const std::lock_guard lock(mutex_);
    return exposed(storage);
  }

 private:
  Watches() {
    // A child made by fork() must not inherit the lock held by another thread.
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().mutex_.unlock(); });
  }

  static constexpr size_t kGroups = 4096;  // of addresses
  static size_t group_of(const Storage* storage) {
    return reinterpret_cast<uintptr_t>(storage) / alignof(Storage) * 0x9E3779B97F4A7C15u >> 52;
  }
  std::atomic<bool>& has_watches(const Storage* storage) { return has_watches_[group_of(storage)]; }

  // A storage that has ended may have left its address to another.
  bool exposed(const Storage* storage) const {
    const auto found = exposed_.find(storage);
    return found != exposed_.end() && !found->second.expired();
  }
  void forget_ended() {
    std::erase_if(exposed_, [](const auto& entry) { return entry.second.expired(); });
    most_exposed_ = std::max(most_exposed_, 2 * exposed_.size());
  }

  std::mutex mutex_;
  std::unordered_map<const Storage*, std::vector<MemoryWatch*>> watches_;
  std::unordered_map<const Storage*, std::weak_ptr<Storage>> exposed_;
  size_t most_exposed_ = 1024;  // before those that have ended are forgotten
  std::array<std::atomic<bool>, kGroups> has_watches_{};
  std::array<size_t, kGroups> in_group_{};
};

}  // namespace

void note_write(const Storage& storage) { Watches::instance().change(&storage); }
void note_exposed(const std::shared_ptr<Storage>& storage) {
  if (storage) Watches::instance().expose(storage);
}
bool is_exposed(const std::shared_ptr<Storage>& storage) {
  return Watches::instance().is_exposed(storage.get());
}

MemoryWatch::MemoryWatch(std::vector<std::shared_ptr<Storage>> storages) : storages_(std::move(storages)) {
  for (const auto& storage : storages_) Watches::instance().add(storage.get(), this);
}

MemoryWatch::~MemoryWatch() {
  for (const auto& storage : storages_) Watches::instance().remove(storage.get(), this);
}

}  // namespace weft
