#include "device/cuda/pinned.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <vector>

#include "device/cuda/driver.h"

namespace weft::cuda {
namespace {

constexpr size_t kLeast = 4096;

struct Copy {
  int device;
  std::shared_ptr<void> event;
};
struct Block {
  size_t size;
  int device;  // that it was asked of
  bool is_used;
  std::vector<Copy> copies;  // that may be under way
};
struct Blocks {
  std::mutex mutex;
  std::map<const char*, Block> all;  // by where they begin
  PinnedStats stats;
  std::atomic<bool> is_any = false;  // without one, nobody asks for the lock
};
Blocks& blocks() {
  static Blocks& instance = *new Blocks;
  return instance;
}

size_t block_bytes(size_t nbytes) { return std::bit_ceil(std::max(nbytes, kLeast)); }

bool is_idle(Block& block) {
  std::erase_if(block.copies,
                [](const Copy& copy) { return driver().has_passed(copy.device, copy.event.get()); });
  return block.copies.empty();
}

void release_kept(Blocks& b) {
  for (auto at = b.all.begin(); at != b.all.end();) {
    auto& [data, block] = *at;
    if (block.is_used || !is_idle(block)) {
      ++at;
      continue;
    }
    b.stats.cached -= block.size;
    driver().release_pinned(const_cast<char*>(data), block.device);
    at = b.all.erase(at);
  }
}

Block* block_of(Blocks& b, const void* data) {
  const auto after = b.all.upper_bound(static_cast<const char*>(data));
  if (after == b.all.begin()) return nullptr;
  const auto found = std::prev(after);
  return static_cast<const char*>(data) < found->first + found->second.size ? &found->second : nullptr;
}

}  // namespace

void* take_pinned(size_t nbytes, int device) {
  const size_t size = block_bytes(nbytes);
  Blocks& b = blocks();
  const std::lock_guard<std::mutex> lock(b.mutex);
  for (auto& [data, block] : b.all) {
    if (block.is_used || block.size != size || !is_idle(block)) continue;
    block.is_used = true;
    b.stats.cached -= size;
    b.stats.used += size;
    return const_cast<char*>(data);
  }
  void* data = driver().allocate_pinned(size, device);
  if (data == nullptr) {
    release_kept(b);
    data = driver().allocate_pinned(size, device);
  }
  if (data == nullptr) return nullptr;
  b.all[static_cast<const char*>(data)] = {size, device, true, {}};
  b.stats.used += size;
  b.is_any = true;
  return data;
}

void give_pinned(void* data) noexcept {
  if (is_forked()) return;
  Blocks& b = blocks();
  const std::lock_guard<std::mutex> lock(b.mutex);
  Block& block = b.all.at(static_cast<const char*>(data));
  block.is_used = false;
  b.stats.used -= block.size;
  b.stats.cached += block.size;
}

bool is_pinned(const void* data) {
  Blocks& b = blocks();
  if (!b.is_any) return false;
  const std::lock_guard<std::mutex> lock(b.mutex);
  return block_of(b, data) != nullptr;
}

void note_copy(const void* data, int device, std::shared_ptr<void> event) {
  Blocks& b = blocks();
  const std::lock_guard<std::mutex> lock(b.mutex);
  Block* const block = block_of(b, data);
  if (block == nullptr) return;
  is_idle(*block);  // what has passed is forgotten
  block->copies.push_back({device, std::move(event)});
}

void release_kept_pinned() {
  Blocks& b = blocks();
  const std::lock_guard<std::mutex> lock(b.mutex);
  release_kept(b);
}

PinnedStats pinned_stats() {
  Blocks& b = blocks();
  const std::lock_guard<std::mutex> lock(b.mutex);
  return b.stats;
}

}  // namespace weft::cuda
