#include "runtime/under_way.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "runtime/interop.h"

namespace weft::runtime {
namespace {

constexpr std::chrono::seconds kLongestWait(30);

struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
  bool is_closed = false;
};

Gate& gate() {
  static Gate& instance = *new Gate;
  return instance;
}

thread_local int own = 0;         // of the gate's count
thread_local bool exits = false;  // this thread has called exit

void close() {
  Gate& g = gate();
  std::unique_lock lock(g.mutex);
  exits = true;
  g.is_closed = true;
  g.changed.wait_for(lock, kLongestWait, [&] { return g.count <= own; });
}

// A child has only the thread that forked. Registered as the library is loaded: a thread that registered
// handlers when it first needs them would wait for one that forks, and the child for it.
[[maybe_unused]] const int gate_at_fork =
    pthread_atfork([] { gate().mutex.lock(); }, [] { gate().mutex.unlock(); },
                   [] {
                     gate().count = own;
                     gate().mutex.unlock();
                   });

}  // namespace

UnderWay::UnderWay() {
  static const int at_exit = std::atexit(close);
  (void)at_exit;
  Gate& g = gate();
  std::unique_lock lock(g.mutex);
  if (g.is_closed && !exits && own == 0) {
    lock.unlock();
    sleep_until_exit();
  }
  ++g.count;
  ++own;
}

UnderWay::~UnderWay() {
  Gate& g = gate();
  const std::lock_guard lock(g.mutex);
  --g.count;
  --own;
  g.changed.notify_all();
}

void wait_for_work_at_exit() { std::atexit(close); }

}  // namespace weft::runtime
