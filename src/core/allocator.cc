// Blocks come in size classes, eight per power of two (at most an eighth of a block is unused). Below 1 MiB
// they are from the C library; above, from mmap, aligned to and advised for huge pages, so that a part can be
// given back.
#include "weft/allocator.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/allocation_failure.h"
#include "core/control_group.h"
#include "core/memory_limit.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMapThreshold = size_t{1} << 20;

// 0 when the class does not fit a size_t.
size_t round_to_class(size_t nbytes) {
  if (nbytes <= 8 * kAlignment)
    return std::max(kAlignment, (nbytes + kAlignment - 1) / kAlignment * kAlignment);
  if (nbytes > SIZE_MAX / 4) return 0;
  const size_t step = std::bit_floor(nbytes - 1) / 8;
  return (nbytes + step - 1) / step * step;
}

// `nbytes`: what is asked for now, of `capacity`.
void* system_allocate(size_t capacity, size_t nbytes) {
  if (capacity < kMapThreshold) return std::aligned_alloc(kAlignment, capacity);
  // Mapped with room to align to a huge page; what is before and after is given back at once. It is the last
  // place there: the system maps downwards, and blocks that lie one behind the other differ in more bits of
  // their addresses than those with equal gaps. Three arrays of 2 MiB whose distances are multiples of 4 MiB
  // take up to a quarter longer to add.
  const size_t mapped = capacity + kHugePage;
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(start);
  const uintptr_t aligned = (begin + mapped - capacity) / kHugePage * kHugePage;
  if (aligned > begin) munmap(start, aligned - begin);
  if (aligned + capacity < begin + mapped) {
    munmap(reinterpret_cast<void*>(aligned + capacity), begin + mapped - aligned - capacity);
  }
  void* data = reinterpret_cast<void*>(aligned);
  // A last huge page of which little is used would be memory for nothing.
  madvise(data, std::min(capacity, (nbytes + kHugePage / 4) / kHugePage * kHugePage), MADV_HUGEPAGE);
  return data;
}

void system_free(void* data, size_t capacity) {
  if (capacity < kMapThreshold)
    std::free(data);
  else
    munmap(data, capacity);
}

// A quarter of what the process may have: of the machine's memory, of its control group's, of its address
// space.
size_t default_limit() {
  if (const std::optional<int64_t> bytes = env::number("WEFT_ALLOCATOR_LIMIT"))
    return static_cast<size_t>(*bytes);
  const long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGE_SIZE);
  size_t memory = pages > 0 && page_size > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page_size)
                                             : size_t{4} << 30;
  memory = smaller_limit(memory, cgroup_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup"));
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    memory = std::min(memory, static_cast<size_t>(space.rlim_cur));
  return memory / 4;
}

class Allocator {
 public:
  static Allocator& instance() {
    static Allocator* allocator = new Allocator;  // never destroyed: storages may outlive static objects
    return *allocator;
  }

  void* allocate(size_t nbytes, size_t* capacity) {
    const size_t size = nbytes > total_memory() ? 0 : round_to_class(nbytes);
    const bool may_be = size > 0 && !fails();
    *capacity = size;
    if (may_be) {
      std::lock_guard lock(mutex_);
      if (void* kept = take(size, capacity)) {
        count(*capacity);
        return kept;
      }
    }
    void* data = may_be ? system_allocate(size, nbytes) : nullptr;
    if (!data && may_be) {
      empty_cache();
      data = system_allocate(size, nbytes);
    }
    if (!data) {
      throw_error(ErrorKind::Memory, fmt::format("allocate: {} bytes ({:.2f} GiB) cannot be allocated",
                                                 nbytes, static_cast<double>(nbytes) / 0x1p30));
    }
    std::lock_guard lock(mutex_);
    count(*capacity);
    return data;
  }

  void deallocate(void* data, size_t capacity) noexcept {
    {
      std::lock_guard lock(mutex_);
      stats_.allocated -= capacity;
      if (capacity <= limit_) {
        evict(limit_ - capacity);
        free_[capacity].push_back(data);
        stats_.cached += capacity;
        return;
      }
    }
    system_free(data, capacity);
  }

  void empty_cache() {
    std::lock_guard lock(mutex_);
    evict(0);
  }

  void fail_after(int64_t successes) { successes_ = successes; }

  AllocatorStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }
  size_t limit() {
    std::lock_guard lock(mutex_);
    return limit_;
  }
  void set_limit(size_t bytes) {
    std::lock_guard lock(mutex_);
    limit_ = bytes;
    evict(bytes);
  }

 private:
  Allocator() : limit_(default_limit()) {
    // A child made by fork() must not inherit the lock held by another thread.
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().mutex_.unlock(); });
  }

  bool fails() { return successes_ >= 0 && successes_-- == 0; }

  // What follows is called with the lock held.
  void count(size_t capacity) {
    ++stats_.num_requests;
    stats_.allocated += capacity;
    stats_.peak_allocated = std::max(stats_.peak_allocated, stats_.allocated);
  }

  // A kept block of this class or, where blocks are mapped, of a larger one: what would be unused of it,
  // where that is more than a quarter, is given back.
  void* take(size_t size, size_t* capacity) {
    const bool is_mapped = size >= kMapThreshold;
    for (auto it = free_.lower_bound(size); it != free_.end() && (is_mapped || it->first == size); ++it) {
      if (it->second.empty()) continue;
      char* data = static_cast<char*>(it->second.back());
      it->second.pop_back();
      stats_.cached -= it->first;
      *capacity = it->first <= size + size / 4 ? it->first : size;
      if (*capacity < it->first) munmap(data + size, it->first - size);
      ++stats_.num_reused;
      return data;
    }
    return nullptr;
  }

  // Frees kept blocks, largest first, until at most `bytes` are kept.
  void evict(size_t bytes) noexcept {
    for (auto it = free_.rbegin(); it != free_.rend() && stats_.cached > bytes; ++it) {
      while (!it->second.empty() && stats_.cached > bytes) {
        system_free(it->second.back(), it->first);
        it->second.pop_back();
        stats_.cached -= it->first;
      }
    }
  }

  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_;  // kept blocks by capacity
  AllocatorStats stats_;
  size_t limit_;
  std::atomic<int64_t> successes_{-1};  // of requests until one fails, in tests; negative: none does
};

}  // namespace

AllocatorStats allocator_stats() { return Allocator::instance().stats(); }
void empty_allocator_cache() { Allocator::instance().empty_cache(); }
void fail_allocation_after(int64_t successes) { Allocator::instance().fail_after(successes); }
size_t allocator_limit() { return Allocator::instance().limit(); }
void set_allocator_limit(size_t bytes) { Allocator::instance().set_limit(bytes); }

namespace detail {

void* allocate(size_t nbytes, size_t* capacity) { return Allocator::instance().allocate(nbytes, capacity); }
void deallocate(void* data, size_t capacity) noexcept { Allocator::instance().deallocate(data, capacity); }

}  // namespace detail

}  // namespace weft
