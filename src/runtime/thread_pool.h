// The threads that run parallel regions.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace weft::runtime {

// What a team runs: fn(context, i), i in [0, n), each call taking work until none is left; it does not throw.
// The call with i = 0 is the caller's. The others help as far as they come before it returns, and a thread
// may call more than once.
using TeamFn = void (*)(void* context, int index);

// OpenMP's or TBB's threads, as the build chose. All calls are made, by up to n threads, before it returns.
void backend_run(int n, TeamFn fn, void* context);
// TBB deals out a region's work itself. OpenMP would make a team for each thread that opens a parallel
// region: ThreadPool keeps its one team and deals out the work.
bool backend_deals_work();
// In a child of fork(), where the backend's threads are gone.
void backend_after_fork();
const char* backend_name();
// For parallel_info(): "OpenMP 201511 (a.k.a. OpenMP 4.5)", and how many threads the library would use by
// itself.
std::string backend_version();
std::string backend_limit();

// n - 1 threads that help whoever calls run(). A region does not wait for threads that are late, because
// other programs or application threads have the cores: it ends when those that have begun are done. Workers
// spin for about 1 ms after a region, unless another thread of the application works meanwhile, then sleep.
class ThreadPool {
 public:
  // Plain threads or the backend's. With OpenMP a further thread, asleep, owns the team.
  ThreadPool(int n, bool use_backend);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }
  // One caller at a time; n <= size().
  void run(int n, TeamFn fn, void* context);
  // Another thread has work of its own: until the next region, waiting threads sleep. From any thread.
  static void stop_spinning();

 private:
  struct alignas(64) Worker {
    std::atomic<uint32_t> ticket{0};
    std::atomic<int> id{0};  // the system's, once the thread runs
    cpu_set_t home{};        // where it may run
    cpu_set_t kept_to{};     // the part of it that the thread was told last
  };

  static void run_member(void* pool, int index);
  void work(int index);
  bool enter();
  void keep_off_callers_core();
  void start_threads(bool use_backend);

  std::vector<Worker> workers_;
  std::vector<std::thread> threads_;
  const bool has_cores_;
  int avoided_core_ = -1;
  std::atomic<bool> leave_{false};
  TeamFn fn_ = nullptr;
  void* context_ = nullptr;
  // kOpen while a region takes helpers, plus the number of those inside.
  alignas(64) std::atomic<uint32_t> region_{0};
};

}  // namespace weft::runtime
