#include "runtime/own_stack.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/interop.h"
#include "runtime/stack_context.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

constexpr size_t kOwnStack = size_t{16} << 20;  // of which the system gives memory to what is touched

constinit thread_local StackBounds bounds;  // no size: not asked for yet

StackBounds bounds_of_thread() {
  StackBounds found;
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return found;
  void* address = nullptr;
  ::pthread_attr_getstack(&attributes, &address, &found.size);
  found.low = reinterpret_cast<uintptr_t>(address);
  ::pthread_attr_destroy(&attributes);
  return found;
}

// Stacks that nobody is on. A few are kept: a thread with a small one needs another at every call.
struct SpareStacks {
  std::mutex mutex;
  std::vector<char*> stacks;
};

SpareStacks& spare_stacks() {
  static SpareStacks& instance = *new SpareStacks;
  return instance;
}
// Registered as the library is loaded (under_way.cc says why).
[[maybe_unused]] const int stacks_at_fork =
    pthread_atfork([] { spare_stacks().mutex.lock(); }, [] { spare_stacks().mutex.unlock(); },
                   [] { spare_stacks().mutex.unlock(); });

// False where there are enough.
bool keep(char* stack) {
  constexpr size_t kMostSpare = 8;
  SpareStacks& spare = spare_stacks();
  const std::lock_guard lock(spare.mutex);
  if (spare.stacks.size() >= kMostSpare) return false;
  spare.stacks.push_back(stack);
  return true;
}

// One stack, while it lives. Nothing can be read or written below it.
class OwnStack {
 public:
  OwnStack() {
    {
      SpareStacks& spare = spare_stacks();
      const std::lock_guard lock(spare.mutex);
      if (!spare.stacks.empty()) {
        memory_ = spare.stacks.back();
        spare.stacks.pop_back();
      }
    }
    if (memory_ == nullptr) map();
  }
  ~OwnStack() {
    if (memory_ != nullptr && !keep(memory_)) ::munmap(memory_, kOwnStack);
  }
  OwnStack(const OwnStack&) = delete;
  OwnStack& operator=(const OwnStack&) = delete;

  StackBounds bounds() const { return {reinterpret_cast<uintptr_t>(memory_) + guard(), kOwnStack - guard()}; }

 private:
  static size_t guard() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }
  void map() {
    void* const mapped = ::mmap(nullptr, kOwnStack, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapped == MAP_FAILED)
      throw_error(ErrorKind::Runtime,
                  fmt::format("this thread's stack is too small, and there is no memory for another of {} "
                              "MiB: {}",
                              kOwnStack >> 20, std::strerror(errno)));
    memory_ = static_cast<char*>(mapped);
    ::mprotect(memory_, guard(), PROT_NONE);
  }
  char* memory_ = nullptr;
};

struct Job {
  const std::function<void()>& work;
  std::exception_ptr exception;
  StackContext outer, inner;
};

constinit thread_local Job* beginning = nullptr;

void run_job() {
  Job& job = *std::exchange(beginning, nullptr);
  job.outer.begun();
  try {
    job.work();
  } catch (abi::__forced_unwind&) {
    sleep_until_exit();  // the program ends, and this thread with it
  } catch (...) {
    job.exception = std::current_exception();
  }
  StackContext::change(job.inner, job.outer, true);
}

}  // namespace

StackBounds current_stack() {
  if (bounds.size == 0) bounds = bounds_of_thread();
  return bounds;
}

std::optional<size_t> stack_left() {
  const StackBounds stack = current_stack();
  const uintptr_t left = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - stack.low;
  if (left > stack.size) return std::nullopt;
  return left;
}

void on_own_stack(const std::function<void()>& work) {
  const OwnStack stack;
  const StackBounds own = stack.bounds(), outer = current_stack();
  Job job{work, nullptr, {}, {}};
  job.inner.prepare(reinterpret_cast<char*>(own.low), own.size, run_job);
  beginning = &job;
  bounds = own;
  StackContext::change(job.outer, job.inner, false);
  bounds = outer;
  if (job.exception) std::rethrow_exception(std::move(job.exception));
}

}  // namespace weft::runtime
