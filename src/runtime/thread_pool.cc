#include "runtime/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <system_error>

#include "core/profiling.h"
#include "runtime/processor_inline.h"
#include "weft/parallel.h"

namespace weft::runtime {
namespace {

constexpr uint32_t kOpen = 1u << 31;

// Spinning costs 10 us less than being woken, but takes the core from other threads of the application.
constexpr int kWorkerSpins = 20000;  // about 1 ms
constexpr int kCallerSpins = 1200;
std::atomic<bool> crowded{false};

// Waits until `value` differs from `old`.
uint32_t await_change(const std::atomic<uint32_t>& value, uint32_t old, int spins) {
  for (int i = 0; i < spins && !crowded.load(std::memory_order_relaxed); ++i) {
    const uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    processor::pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(int n, bool use_backend)
    : workers_(static_cast<size_t>(n - 1)), has_cores_(n <= num_usable_cores()) {
  sigset_t all, old;
  sigfillset(&all);  // signals are the application's
  pthread_sigmask(SIG_SETMASK, &all, &old);
  try {
    start_threads(use_backend);
  } catch (const std::system_error&) {
    // A limit on threads: the callers do what those that are missing would have done.
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

ThreadPool::~ThreadPool() {
  leave_.store(true, std::memory_order_relaxed);
  for (Worker& worker : workers_) {
    worker.ticket.fetch_add(1, std::memory_order_release);
    worker.ticket.notify_one();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::start_threads(bool use_backend) {
  if (use_backend) {
    threads_.emplace_back([this] { backend_run(size(), run_member, this); });
    return;
  }
  threads_.reserve(workers_.size());
  for (int index = 1; index < size(); ++index) {
    threads_.emplace_back([this, index] { work(index); });
  }
}

// Member 0 is the thread that owns the team. It sleeps at the team's end until the others leave: with
// OMP_PROC_BIND it is bound to the core of the application's first thread, which has work to do there.
void ThreadPool::run_member(void* pool, int index) {
  if (index > 0) static_cast<ThreadPool*>(pool)->work(index);
}

void ThreadPool::stop_spinning() {
  if (!crowded.load(std::memory_order_relaxed)) crowded.store(true, std::memory_order_relaxed);
}

bool ThreadPool::enter() {
  uint32_t region = region_.load(std::memory_order_relaxed);
  while ((region & kOpen) != 0) {
    if (region_.compare_exchange_weak(region, region + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void ThreadPool::work(int index) {
  profiling::name_thread("intra-op", index);
  Worker& self = workers_[static_cast<size_t>(index - 1)];
  if (sched_getaffinity(0, sizeof self.home, &self.home) == 0) {  // fails where there are over 1024 cores
    self.kept_to = self.home;
    self.id.store(gettid(), std::memory_order_release);
  }
  const std::atomic<uint32_t>& ticket = self.ticket;
  uint32_t seen = 0;
  while (true) {
    seen = await_change(ticket, seen, has_cores_ ? kWorkerSpins : 0);
    if (leave_.load(std::memory_order_relaxed)) return;
    if (!enter()) continue;
    fn_(context_, index);
    if (region_.fetch_sub(1, std::memory_order_acq_rel) == 1) region_.notify_one();
  }
}

// A kernel that runs in a virtual machine may take idle cores for cores that its host has given to others,
// and then wakes a thread on the core of the thread that wakes it, where it waits until that one is done.
// Workers are therefore kept off the core that the caller is on. Larger teams are left alone: one thread is a
// small part of them. So are threads that are bound to one core.
void ThreadPool::keep_off_callers_core() {
  constexpr size_t kLargest = 7;
  const int core = sched_getcpu();
  if (core == avoided_core_ || core < 0 || core >= CPU_SETSIZE || !has_cores_ || workers_.size() > kLargest)
    return;
  for (Worker& worker : workers_) {
    const int id = worker.id.load(std::memory_order_acquire);
    if (id == 0) return;  // on its way; the next region tries again
    cpu_set_t now;
    if (sched_getaffinity(id, sizeof now, &now) != 0) continue;
    if (!CPU_EQUAL(&now, &worker.kept_to)) worker.home = now;  // somebody else has moved it
    cpu_set_t rest = worker.home;
    CPU_CLR(core, &rest);
    if (CPU_COUNT(&rest) == 0) rest = worker.home;
    if (!CPU_EQUAL(&now, &rest) && sched_setaffinity(id, sizeof rest, &rest) != 0) continue;
    worker.kept_to = rest;
  }
  avoided_core_ = core;
}

void ThreadPool::run(int n, TeamFn fn, void* context) {
  keep_off_callers_core();
  if (crowded.load(std::memory_order_relaxed)) crowded.store(false, std::memory_order_relaxed);
  fn_ = fn;
  context_ = context;
  region_.store(kOpen, std::memory_order_release);
  for (int i = 0; i < n - 1; ++i) {
    std::atomic<uint32_t>& ticket = workers_[static_cast<size_t>(i)].ticket;
    ticket.fetch_add(1, std::memory_order_release);
    ticket.notify_one();
  }
  fn(context, 0);
  uint32_t inside = region_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  while (inside != 0) inside = await_change(region_, inside, has_cores_ ? kCallerSpins : 0);
}

}  // namespace weft::runtime
