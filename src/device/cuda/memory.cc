#include "device/cuda/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "device/cuda/driver.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

constexpr size_t kUnit = 512;

struct Pool {
  std::mutex mutex;
  std::multimap<size_t, void*> kept;
  MemoryStats stats;
  std::map<void*, RecordedMemory*> recorded;  // blocks of recorded work, whether in use or not
  std::map<RecordedMemory*, std::multimap<size_t, void*>> idle;  // of these, what that work may take again
};
thread_local RecordedMemory* recording = nullptr;
Pool& pool_of(int device) {
  static Pool* const pools = new Pool[kMostDevices];
  return pools[static_cast<size_t>(device)];
}

// Eight classes per power of two: at most an eighth of a block is unused.
size_t class_of(size_t nbytes) {
  if (nbytes <= kUnit) return kUnit;
  const size_t step = std::max(kUnit, std::bit_floor(nbytes - 1) / 8);
  return (nbytes + step - 1) / step * step;
}

// Of a pool that is locked, behind the lock of submissions: nothing is launched that uses the blocks.
void release_kept(Pool& pool, int device) {
  driver().synchronize(device);
  for (const auto& [size, data] : pool.kept) driver().release(data, device);
  pool.kept.clear();
  pool.stats.cached = 0;
}

std::string in_words(size_t bytes) {
  constexpr double kKi = 1024;
  const double n = static_cast<double>(bytes);
  if (n < kKi * kKi) return fmt::format("{:.1f} KiB", n / kKi);
  return n < kKi * kKi * kKi ? fmt::format("{:.1f} MiB", n / (kKi * kKi))
                             : fmt::format("{:.2f} GiB", n / (kKi * kKi * kKi));
}

// A block of a pool that is locked: kept from before or the driver's. Null where there is none.
void* find_block(Pool& pool, size_t size, int device) {
  if (recording != nullptr) {
    auto& blocks = pool.idle[recording];
    if (const auto found = blocks.find(size); found != blocks.end()) {
      void* const data = found->second;
      blocks.erase(found);
      return data;
    }
  }
  void* data = nullptr;
  if (const auto found = pool.kept.find(size); found != pool.kept.end()) {
    data = found->second;
    pool.kept.erase(found);
    pool.stats.cached -= size;
  } else {
    data = driver().allocate(size, device);
    if (data == nullptr) return nullptr;
    ++pool.stats.allocations;
  }
  MemoryStats& stats = pool.stats;
  stats.used += size;
  stats.most_used = std::max(stats.most_used, stats.used);
  stats.most_reserved = std::max(stats.most_reserved, stats.used + stats.cached);
  if (recording != nullptr) pool.recorded[data] = recording;
  return data;
}

}  // namespace

void* take_memory(size_t nbytes, int device, size_t* capacity) {
  Pool& pool = pool_of(device);
  const size_t size = class_of(nbytes);
  *capacity = size;
  {
    const std::lock_guard<std::mutex> lock(pool.mutex);
    if (void* const data = find_block(pool, size, device); data != nullptr) return data;
  }
  // The thread that records holds the first of these and takes memory: nobody waits for it with the second.
  const Driver& gpu = driver();
  const auto order = gpu.submitting(device);
  const std::lock_guard<std::mutex> lock(pool.mutex);
  if (!pool.kept.empty()) release_kept(pool, device);
  if (void* const data = find_block(pool, size, device); data != nullptr) return data;
  throw_error(
      ErrorKind::Memory,
      fmt::format("cuda:{}: out of memory: asked for {}; weft's tensors hold {} there, {} of {} are free",
                  device, in_words(nbytes), in_words(pool.stats.used), in_words(gpu.free_memory(device)),
                  in_words(gpu.facts(device).memory)));
}

void give_memory(void* data, size_t capacity, int device) noexcept {
  if (is_forked()) return;
  Pool& pool = pool_of(device);
  const std::lock_guard<std::mutex> lock(pool.mutex);
  if (!pool.recorded.empty()) {
    if (const auto found = pool.recorded.find(data); found != pool.recorded.end()) {
      pool.idle[found->second].emplace(capacity, data);
      return;
    }
  }
  pool.stats.used -= capacity;
  pool.stats.cached += capacity;
  pool.kept.emplace(capacity, data);
}

void RecordedMemory::begin() { recording = this; }
void RecordedMemory::end() { recording = nullptr; }
RecordedMemory::~RecordedMemory() {
  if (is_forked()) return;
  Pool& pool = pool_of(device_);
  const std::lock_guard<std::mutex> lock(pool.mutex);
  std::erase_if(pool.recorded, [&](const auto& block) { return block.second == this; });
  for (const auto& [size, data] : pool.idle[this]) {
    pool.stats.used -= size;
    pool.stats.cached += size;
    pool.kept.emplace(size, data);
  }
  pool.idle.erase(this);
}

void release_kept_memory(int device) {
  Pool& pool = pool_of(device);
  const auto order = driver().submitting(device);
  const std::lock_guard<std::mutex> lock(pool.mutex);
  if (!pool.kept.empty()) release_kept(pool, device);
}

MemoryStats memory_stats(int device) {
  Pool& pool = pool_of(device);
  const std::lock_guard<std::mutex> lock(pool.mutex);
  return pool.stats;
}

void reset_peak_memory(int device) {
  Pool& pool = pool_of(device);
  const std::lock_guard<std::mutex> lock(pool.mutex);
  pool.stats.most_used = pool.stats.used;
  pool.stats.most_reserved = pool.stats.used + pool.stats.cached;
}

}  // namespace weft::cuda
