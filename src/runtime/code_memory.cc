#include "runtime/code_memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>

namespace weft::runtime {
namespace {

constexpr size_t kRegionBytes = size_t{4} << 20;

size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t whole_pages(size_t nbytes) { return (nbytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

// One mapping that can be read and executed, but for the pages that are just being written. Private, so that
// what a child of fork() writes is its own.
class Region {
 public:
  explicit Region(size_t nbytes) : size_(nbytes) {
    // Writable first: the system counts such memory, and joins neighbouring pages that it counts alike only.
    void* const data = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return;
    if (::mprotect(data, size_, PROT_READ | PROT_EXEC) == 0) {
      data_ = static_cast<char*>(data);
      free_[0] = size_;
    } else {
      const int error = errno;
      ::munmap(data, size_);
      errno = error;
    }
  }
  ~Region() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  bool is_mapped() const { return data_ != nullptr; }
  bool is_empty() const { return free_.size() == 1 && free_.begin()->second == size_; }
  bool holds(const char* data) const { return data >= data_ && data < data_ + size_; }

  // Null where no gap is large enough.
  char* take(size_t nbytes) {
    const auto gap =
        std::find_if(free_.begin(), free_.end(), [&](const auto& one) { return one.second >= nbytes; });
    if (gap == free_.end()) return nullptr;
    const auto [offset, length] = *gap;
    free_.erase(gap);
    if (length > nbytes) free_[offset + nbytes] = length - nbytes;
    return data_ + offset;
  }

  // Its memory is the system's again, and reads as zero.
  void give_back(char* data, size_t nbytes) {
    ::madvise(data, nbytes, MADV_DONTNEED);
    const size_t offset = static_cast<size_t>(data - data_);
    auto gap = free_.emplace(offset, nbytes).first;
    if (const auto next = std::next(gap); next != free_.end() && offset + nbytes == next->first) {
      gap->second += next->second;
      free_.erase(next);
    }
    if (gap == free_.begin()) return;
    if (const auto before = std::prev(gap); before->first + before->second == offset) {
      before->second += gap->second;
      free_.erase(gap);
    }
  }

 private:
  const size_t size_;
  char* data_ = nullptr;
  std::map<size_t, size_t> free_;  // gaps: offset, bytes
};

struct CodeMemory {
  std::mutex mutex;
  std::map<size_t, std::unique_ptr<Region>> regions;  // by a number that grows
  size_t next = 0, used = 0;
};

CodeMemory& code_memory() {
  static CodeMemory& memory = *new CodeMemory;
  return memory;
}
// Registered as the library is loaded (under_way.cc says why).
[[maybe_unused]] const int code_at_fork =
    pthread_atfork([] { code_memory().mutex.lock(); }, [] { code_memory().mutex.unlock(); },
                   [] { code_memory().mutex.unlock(); });

char* take(size_t nbytes) {
  CodeMemory& memory = code_memory();
  const std::lock_guard lock(memory.mutex);
  for (auto& [number, region] : memory.regions) {
    if (char* const data = region->take(nbytes)) {
      memory.used += nbytes;
      return data;
    }
  }
  auto region = std::make_unique<Region>(std::max(nbytes, kRegionBytes));
  if (!region->is_mapped()) return nullptr;
  char* const data = region->take(nbytes);
  memory.regions.emplace(memory.next++, std::move(region));
  memory.used += nbytes;
  return data;
}

void give_back(char* data, size_t nbytes) {
  CodeMemory& memory = code_memory();
  const std::lock_guard lock(memory.mutex);
  const auto at = std::find_if(memory.regions.begin(), memory.regions.end(),
                               [&](const auto& one) { return one.second->holds(data); });
  at->second->give_back(data, nbytes);
  memory.used -= nbytes;
  if (at->second->is_empty() && memory.regions.size() > 1) memory.regions.erase(at);
}

}  // namespace

CodeBlock::~CodeBlock() { give_back(data_, size_); }

std::unique_ptr<CodeBlock> make_code(size_t nbytes, const std::function<void(char*)>& fill) {
  const size_t size = whole_pages(nbytes);
  char* const data = take(size);
  if (data == nullptr) return nullptr;
  std::unique_ptr<CodeBlock> block(new CodeBlock(data, size));
  if (::mprotect(data, size, PROT_READ | PROT_WRITE) != 0) return nullptr;
  // Whatever happens meanwhile, the pages are as the others when their block ends.
  struct Protect {
    CodeBlock& block;
    int status = -1;
    void now() { status = ::mprotect(block.data(), block.size(), PROT_READ | PROT_EXEC); }
    ~Protect() {
      if (status != 0) now();
    }
  } protect{*block};
  fill(data);
  __builtin___clear_cache(data, data + size);
  protect.now();
  return protect.status == 0 ? std::move(block) : nullptr;
}

CodeMemoryStats code_memory_stats() {
  CodeMemory& memory = code_memory();
  const std::lock_guard lock(memory.mutex);
  return {memory.regions.size(), memory.used};
}

}  // namespace weft::runtime
