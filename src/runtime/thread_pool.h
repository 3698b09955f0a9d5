// The teams of threads that run parallel regions. Both call fn(context, i) once for each i in [0, n), i = 0
// on the calling thread, and return when all calls have returned. fn does not throw. One caller at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::runtime {

using TeamFn = void (*)(void* context, int index);

// OpenMP's or TBB's threads, as the build chose. OpenMP may start fewer than n threads.
void backend_run(int n, TeamFn fn, void* context);
// OpenMP keeps a team per thread that opens parallel regions; TBB shares its workers.
bool backend_has_team_per_caller();
// In a child of fork(), where the backend's threads are gone.
void backend_after_fork();
const char* backend_name();

// Plain threads, for where the backend cannot be used: in children of fork(), and for application threads
// other than the one that has OpenMP's team. Workers spin for about 50 us after a task, then sleep.
class ThreadPool {
 public:
  void run(int n, TeamFn fn, void* context);

 private:
  struct alignas(64) Worker {
    std::atomic<uint32_t> ticket{0};
  };

  void work(Worker& worker, int index);
  void grow(int workers);

  std::vector<std::unique_ptr<Worker>> workers_;
  TeamFn fn_ = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> spin_{true};
  alignas(64) std::atomic<uint32_t> running_{0};
};

// How long to wait for another thread before sleeping.
inline constexpr int kSpins = 1200;
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace weft::runtime
