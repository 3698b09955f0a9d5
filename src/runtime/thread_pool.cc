#include "runtime/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <thread>

#include "weft/parallel.h"

namespace weft::runtime {
namespace {

// Waits until `value` differs from `old`: by spinning first when there is a core for it.
uint32_t await_change(const std::atomic<uint32_t>& value, uint32_t old, bool spin) {
  for (int i = 0; spin && i < kSpins; ++i) {
    const uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    spin_pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

void ThreadPool::work(Worker& worker, int index) {
  uint32_t seen = 0;
  while (true) {
    seen = await_change(worker.ticket, seen, spin_);
    fn_(context_, index);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

void ThreadPool::grow(int workers) {
  while (static_cast<int>(workers_.size()) < workers) {
    workers_.push_back(std::make_unique<Worker>());
    Worker& worker = *workers_.back();
    const int index = static_cast<int>(workers_.size());
    // Workers live as long as the process and take no signals meant for the application.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    try {
      std::thread([this, &worker, index] { work(worker, index); }).detach();
    } catch (...) {
      workers_.pop_back();
      pthread_sigmask(SIG_SETMASK, &old, nullptr);
      return;  // a thread limit: run on those there are
    }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }
}

void ThreadPool::run(int n, TeamFn fn, void* context) {
  if (static_cast<int>(workers_.size()) < n - 1) {
    spin_ = n <= num_usable_cores();
    grow(n - 1);
    if (static_cast<int>(workers_.size()) < n - 1) n = static_cast<int>(workers_.size()) + 1;
  }
  fn_ = fn;
  context_ = context;
  running_.store(static_cast<uint32_t>(n - 1), std::memory_order_relaxed);
  for (int i = 0; i < n - 1; ++i) {
    workers_[static_cast<size_t>(i)]->ticket.fetch_add(1, std::memory_order_release);
    workers_[static_cast<size_t>(i)]->ticket.notify_one();
  }
  fn(context, 0);
  for (uint32_t left = running_.load(std::memory_order_acquire); left != 0;) {
    left = await_change(running_, left, spin_);
  }
}

}  // namespace weft::runtime
