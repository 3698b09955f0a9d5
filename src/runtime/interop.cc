#include "runtime/interop.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/profiling.h"
#include "runtime/log.h"
#include "runtime/own_stack.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::runtime {
namespace {

struct Task {
  std::function<void()> body;
  std::shared_ptr<Task> parent;  // the task that launched it, or the nearest one above that is not finished
  int queued_below = 0;          // queued tasks that have this one above them
  bool finished = false;
};
using TaskPtr = std::shared_ptr<Task>;

// A thread asleep in interop_wait().
struct Waiter {
  const Task* inside;
  bool is_worker;
  bool is_helper;  // another thread, inside a task that it runs
  bool may_help;
  bool awake = false;
  std::condition_variable wake;
};

thread_local const TaskPtr* current_task = nullptr;  // what this thread runs, innermost
thread_local bool is_worker = false;
thread_local bool is_in_interpreter = false;
std::atomic<bool (*)()> interpreter_has_ended{nullptr};

// Half of the stack stays free for the task itself.
bool stack_has_room() { return stack_left().value_or(0) > current_stack().size / 2; }

bool is_below(const Task& task, const Task* ancestor) {
  for (const Task* t = task.parent.get(); t != nullptr; t = t->parent.get()) {
    if (t == ancestor) return true;
  }
  return false;
}

class InteropPool {
 public:
  explicit InteropPool(int size) : size_(size) {}

  void launch(std::function<void()> body);
  bool help();
  // Runs a task, or sleeps until there is one to run or notify() is called; returns at once if it has been
  // called since `seen` was read from notifications().
  void help_or_sleep(uint64_t seen);
  uint64_t notifications() const { return notifications_.load(std::memory_order_acquire); }
  void notify();
  void drain();
  void note_asleep();
  void note_in_interpreter(bool is_inside);
  int alive();

 private:
  using Lock = std::unique_lock<std::mutex>;

  void run(Lock& lock, const TaskPtr& task);
  void work(int number);
  // The rest needs the lock.
  // Threads that run tasks now.
  int running() const { return workers_ - idle_ - blocked_ + helpers_; }
  TaskPtr take(const Task* inside);
  TaskPtr remove(std::deque<TaskPtr>::iterator place);
  bool start_worker();
  bool find_thread_for_queue();
  void wake(Waiter& waiter);

  const int size_;
  std::mutex mutex_;
  std::deque<TaskPtr> queue_;
  std::vector<Waiter*> waiters_;
  std::condition_variable work_;
  std::condition_variable quiet_;
  int workers_ = 0;  // alive
  int idle_ = 0;     // of these, waiting for a task
  int blocked_ = 0;  // of these, asleep inside a task
  int in_interpreter_ = 0;  // of the workers
  int helpers_ = 0;  // other threads that run tasks, and are not asleep inside one
  bool stopping_ = false;
  std::string start_error_;
  std::atomic<uint64_t> notifications_{0};
};

struct Setting {
  std::atomic<int> threads{0};  // 0: the default
  std::atomic<bool> settled{false};
};
Setting setting;
// Never destroyed, since its threads live as long as the process; another one in a child of fork().
std::atomic<InteropPool*> instance{nullptr};

void in_child_of_fork() {
  instance.store(nullptr);
  setting.settled.store(false);
  current_task = nullptr;
  is_worker = false;
}

// Registered as the library is loaded (under_way.cc says why).
[[maybe_unused]] const int interop_at_fork = pthread_atfork(nullptr, nullptr, in_child_of_fork);

InteropPool& pool() {
  static const int at_exit = std::atexit([] {
    if (InteropPool* p = instance.load()) p->drain();
  });
  (void)at_exit;
  InteropPool* p = instance.load(std::memory_order_acquire);
  if (p != nullptr) return *p;
  setting.settled.store(true);
  auto made = std::make_unique<InteropPool>(get_num_interop_threads());
  if (instance.compare_exchange_strong(p, made.get())) return *made.release();
  return *p;
}

void InteropPool::launch(std::function<void()> body) {
  auto task = std::make_shared<Task>();
  task->body = std::move(body);
  if (current_task != nullptr) task->parent = *current_task;
  const Lock lock(mutex_);
  if (stopping_) return;
  for (Task* t = task.get(); t->parent != nullptr; t = t->parent.get()) {
    while (t->parent->finished) {
      TaskPtr above = t->parent->parent;
      t->parent = std::move(above);
      if (t->parent == nullptr) break;
    }
    if (t->parent == nullptr) break;
    ++t->parent->queued_below;
  }
  queue_.push_back(std::move(task));
  if (!find_thread_for_queue() && workers_ == 0) {
    task = remove(queue_.end() - 1);  // ends without the lock: what it holds may wait for Python's
    throw_error(ErrorKind::Runtime, "launch: no thread could be started: " + start_error_);
  }
}

// Takes a task out of the queue.
TaskPtr InteropPool::remove(std::deque<TaskPtr>::iterator place) {
  TaskPtr task = std::move(*place);
  queue_.erase(place);
  for (Task* t = task->parent.get(); t != nullptr; t = t->parent.get()) --t->queued_below;
  return task;
}

TaskPtr InteropPool::take(const Task* inside) {
  if (queue_.empty()) return nullptr;
  if (inside == nullptr) return remove(queue_.begin());
  if (inside->queued_below == 0) return nullptr;
  const auto found = std::find_if(queue_.rbegin(), queue_.rend(),
                                  [&](const TaskPtr& task) { return is_below(*task, inside); });
  WEFT_ASSERT(found != queue_.rend(), "inter-op pool: a queued task is missing");
  return remove(std::next(found).base());
}

// Holds the lock at its begin and end, except at the end in a child of fork() that the task made.
void InteropPool::run(Lock& lock, const TaskPtr& task) {
  const bool helps = !is_worker && current_task == nullptr;
  helpers_ += helps;
  lock.unlock();
  const TaskPtr* const outer = std::exchange(current_task, &task);
  try {
    const profiling::Span span("inter-op task", profiling::Kind::InterOp);
    std::exchange(task->body, nullptr)();
  } catch (const std::exception& error) {
    log::warning(fmt::format("an inter-op task ended with an exception: {}", error.what()));
  } catch (...) {
    log::warning("an inter-op task ended with an exception of an unknown type");
  }
  // A child that the task made by fork() has another pool, and this one's lock may be held by nobody there.
  if (instance.load(std::memory_order_relaxed) != this) return;
  current_task = outer;
  lock.lock();
  task->finished = true;
  if (!helps) return;
  --helpers_;
  find_thread_for_queue();
}

void InteropPool::work(int number) {
  is_worker = true;
  profiling::name_thread("inter-op", number);
  Lock lock(mutex_);
  while (true) {
    const TaskPtr task = running() <= size_ ? take(nullptr) : nullptr;
    if (task != nullptr) {
      run(lock, task);
      if (!lock.owns_lock()) return;
      continue;
    }
    if (workers_ > size_) {  // a spare thread that is not needed now
      --workers_;
      quiet_.notify_all();
      return;
    }
    ++idle_;
    quiet_.notify_all();
    work_.wait(lock, [this] { return !queue_.empty() && running() < size_; });
    --idle_;
  }
}

bool InteropPool::start_worker() {
  start_error_.clear();
  sigset_t all, old;
  sigfillset(&all);  // signals are the application's
  pthread_sigmask(SIG_SETMASK, &all, &old);
  try {
    std::thread([this, number = workers_ + 1] { work(number); }).detach();
    ++workers_;
  } catch (const std::system_error& error) {
    start_error_ = error.what();
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return start_error_.empty();
}

// After a task was queued or a worker fell asleep. False: nobody will run the queued tasks, since every pool
// thread sleeps inside a task and no other can be started.
bool InteropPool::find_thread_for_queue() {
  if (queue_.empty()) return true;
  if (idle_ > 0) work_.notify_one();
  if (queue_.size() <= static_cast<size_t>(idle_)) return true;
  if ((workers_ < size_ || workers_ == blocked_) && start_worker()) return true;
  const Task& newest = *queue_.back();
  const auto helper = std::find_if(waiters_.rbegin(), waiters_.rend(), [&](const Waiter* waiter) {
    return waiter->may_help && (waiter->inside == nullptr || is_below(newest, waiter->inside));
  });
  if (helper == waiters_.rend()) return workers_ > blocked_;
  wake(**helper);
  return true;
}

void InteropPool::wake(Waiter& waiter) {
  waiters_.erase(std::find(waiters_.begin(), waiters_.end(), &waiter));
  if (waiter.is_worker) --blocked_;
  if (waiter.is_helper) ++helpers_;
  waiter.awake = true;
  waiter.wake.notify_one();
}

bool InteropPool::help() {
  Lock lock(mutex_);
  const TaskPtr task = take(current_task != nullptr ? current_task->get() : nullptr);
  if (task == nullptr) return false;
  run(lock, task);
  return true;
}

void InteropPool::help_or_sleep(uint64_t seen) {
  const Task* const inside = current_task != nullptr ? current_task->get() : nullptr;
  Waiter waiter{inside, is_worker, !is_worker && inside != nullptr, stack_has_room(), false, {}};
  Lock lock(mutex_);
  if (notifications() != seen) return;
  const bool has_place = inside != nullptr || running() < size_;
  TaskPtr task = waiter.may_help && has_place ? take(inside) : nullptr;
  if (task == nullptr) {
    waiters_.push_back(&waiter);
    if (waiter.is_worker || waiter.is_helper) {
      if (waiter.is_worker) ++blocked_;
      if (waiter.is_helper) --helpers_;
      quiet_.notify_all();
      if (!find_thread_for_queue() && !waiter.awake) {
        // Out of threads: any task is better than none.
        wake(waiter);
        task = take(nullptr);
      }
    }
  }
  if (task == nullptr) {
    const profiling::Span span("wait", profiling::Kind::InterOp);
    waiter.wake.wait(lock, [&] { return waiter.awake; });
  } else {
    run(lock, task);
  }
}

void InteropPool::notify() {
  const Lock lock(mutex_);
  notifications_.fetch_add(1, std::memory_order_release);
  while (!waiters_.empty()) wake(*waiters_.back());
}

void InteropPool::drain() {
  std::deque<TaskPtr> dropped;
  Lock lock(mutex_);
  stopping_ = true;
  dropped.swap(queue_);
  bool (*const has_ended)() = interpreter_has_ended.load();
  const bool keeps_threads = has_ended != nullptr && has_ended();
  const int self = is_worker && !(keeps_threads && is_in_interpreter) ? 1 : 0;
  quiet_.wait(lock,
              [&] { return workers_ - idle_ - blocked_ - (keeps_threads ? in_interpreter_ : 0) <= self; });
  lock.unlock();
}

void InteropPool::note_in_interpreter(bool is_inside) {
  const Lock lock(mutex_);
  in_interpreter_ += is_inside ? 1 : -1;
  if (stopping_) quiet_.notify_all();
}

// The calling thread never returns to its task.
void InteropPool::note_asleep() {
  const Lock lock(mutex_);
  if (is_worker) ++blocked_;
  if (is_worker && is_in_interpreter) --in_interpreter_;
  quiet_.notify_all();
}

int InteropPool::alive() {
  const Lock lock(mutex_);
  return workers_;
}

}  // namespace

void interop_launch(std::function<void()> task) {
  WEFT_CHECK(task != nullptr, "launch: expected a function, got an empty one");
  pool().launch(std::move(task));
}

bool interop_help() { return pool().help(); }

void interop_wait(const std::function<bool()>& done) {
  while (true) {
    InteropPool& p = pool();
    const uint64_t seen = p.notifications();
    if (done()) return;
    p.help_or_sleep(seen);
  }
}

void interop_notify() { pool().notify(); }

void sleep_until_exit() {
  if (InteropPool* p = instance.load(); p != nullptr) p->note_asleep();
  while (true) ::pause();
}

InterpreterScope::InterpreterScope(bool is_inside)
    : was_inside_(std::exchange(is_in_interpreter, is_inside)) {
  if (is_worker && is_inside != was_inside_) instance.load()->note_in_interpreter(is_inside);
}

InterpreterScope::~InterpreterScope() {
  const bool was_inside = std::exchange(is_in_interpreter, was_inside_);
  if (is_worker && was_inside != was_inside_) instance.load()->note_in_interpreter(was_inside_);
}

void set_interpreter_has_ended(bool (*has_ended)()) { interpreter_has_ended.store(has_ended); }

int interop_threads_alive() {
  InteropPool* p = instance.load();
  return p == nullptr ? 0 : p->alive();
}

}  // namespace weft::runtime

namespace weft {

void launch(std::function<void()> task) { runtime::interop_launch(std::move(task)); }

int get_num_interop_threads() {
  const int asked = runtime::setting.threads.load(std::memory_order_relaxed);
  if (asked > 0) return asked;
  static const int cores = num_usable_cores();
  return cores;
}

void set_num_interop_threads(int n) {
  constexpr int kMost = 1024;
  WEFT_CHECK(n >= 1 && n <= kMost,
             fmt::format("set_num_interop_threads: expected 1 <= n <= {}, got {}", kMost, n));
  if (runtime::setting.settled.exchange(true)) {
    throw_error(
        ErrorKind::Runtime,
        "set_num_interop_threads: cannot set the number of inter-op threads after parallel work has started "
        "or set_num_interop_threads was called");
  }
  runtime::setting.threads.store(n, std::memory_order_relaxed);
}

}  // namespace weft
