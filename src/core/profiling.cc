#include "core/profiling.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_set>
#include <utility>

namespace weft::profiling {

std::atomic<uint32_t> flags{0};

// One thread's events. The lock is contended only while they are taken.
struct ThreadEvents {
  std::mutex mutex;
  int64_t recording = 0;  // the one that they belong to
  int64_t last_id = 0;
  std::vector<Event> events;
  std::vector<Event> open;  // begun and not ended, outermost first
  std::vector<MemoryEvent> memory;
  size_t dropped = 0;
  pid_t thread = 0;
  std::string name;
};

namespace {

struct Recorder {
  std::mutex mutex;
  std::vector<std::shared_ptr<ThreadEvents>> threads;
  std::mutex texts_mutex;
  std::unordered_set<std::string> texts;
  int64_t end_ns = 0;
};
// Never destroyed: threads record, and hold texts, until the process is gone. Another one in a child of
// fork(), where the locks of this may be held by threads that are not there.
std::atomic<Recorder*> current{nullptr};
std::atomic<int64_t> recording{0};
std::atomic<StackSource> stack_source{nullptr};

// Registered as the library is loaded: a thread that registered it when it first records would wait for one
// that forks, and the child for it.
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] {
  if (current.load() == nullptr) return;
  flags.store(0);
  current.store(nullptr);
  recording.fetch_add(1);
});

Recorder& recorder() {
  Recorder* r = current.load(std::memory_order_acquire);
  if (r != nullptr) return *r;
  auto made = std::make_unique<Recorder>();
  if (current.compare_exchange_strong(r, made.get())) return *made.release();
  return *r;
}

// "intra-op 3"; empty for a thread of the application.
thread_local std::string pool_thread_name;

std::string name_of_thread(pid_t thread) {
  if (!pool_thread_name.empty()) return pool_thread_name;
  return thread == getpid() ? "main" : fmt::format("application {}", thread);
}

// A thread that ends may release memory after its own objects have been destroyed.
thread_local bool has_ended = false;
struct Mine {
  std::shared_ptr<ThreadEvents> events;
  ~Mine() { has_ended = true; }
};

// The calling thread's events of the recording `number`; null when the thread ends.
std::shared_ptr<ThreadEvents> my_events(int64_t number) {
  if (has_ended) return nullptr;
  thread_local Mine kept;
  std::shared_ptr<ThreadEvents>& mine = kept.events;
  if (mine == nullptr || mine->recording != number) {
    mine = std::make_shared<ThreadEvents>();
    mine->recording = number;
    mine->thread = static_cast<pid_t>(syscall(SYS_gettid));
    mine->name = name_of_thread(mine->thread);
    Recorder& r = recorder();
    const std::lock_guard lock(r.mutex);
    r.threads.push_back(mine);
  }
  return mine;
}

bool runs_python(Kind kind) { return kind == Kind::Range || kind == Kind::Script || kind == Kind::Compile; }

thread_local const char* remembered_stack = nullptr;

const char* stack_of_caller() {
  const StackSource source = stack_source.load(std::memory_order_relaxed);
  const char* const found = source == nullptr ? nullptr : source();
  const char* const stack = found == nullptr ? remembered_stack : found;
  return stack == nullptr || *stack == '\0' ? nullptr : stack;
}

// What is called from inside an operator has its stack.
const char* stack_of(const ThreadEvents& mine, const char* place) {
  if (!is_on(kStacks)) return nullptr;
  const char* stack = nullptr;
  if (!mine.open.empty() && !runs_python(mine.open.back().kind) && !is_lane(mine.open.back().kind)) {
    stack = mine.open.back().stack;
  } else {
    stack = stack_of_caller();
  }
  if (place == nullptr || *place == '\0') return stack;
  return stack == nullptr ? place : intern(std::string(place) + "\n" + stack);
}

int64_t open_event(ThreadEvents& mine, const char* name, Kind kind, const char* place) {
  Event event;
  event.name = name;
  event.kind = kind;
  event.stack = is_lane(kind) ? nullptr : stack_of(mine, place);
  event.id = ++mine.last_id;
  event.begin_ns = now_ns();
  mine.open.push_back(event);
  return event.id;
}

// With the thread's lock held.
void close_event(ThreadEvents& mine, std::vector<Event>::iterator found) {
  Event event = *found;
  event.overlaps |= found + 1 != mine.open.end();
  const auto around = found == mine.open.begin() ? mine.open.end() : found - 1;
  if (around != mine.open.end()) {
    around->inner_ns += is_lane(event.kind) ? event.inner_ns : event.total_ns();
    around->allocated += event.allocated;
    around->inner_allocated += is_lane(event.kind) ? event.inner_allocated : event.allocated;
  }
  mine.open.erase(found);
  if (mine.events.size() < kMaxEventsPerThread)
    mine.events.push_back(event);
  else
    ++mine.dropped;
}

std::vector<Event>::iterator find_open(ThreadEvents& mine, int64_t id) {
  const auto found =
      std::find_if(mine.open.rbegin(), mine.open.rend(), [&](const Event& event) { return event.id == id; });
  return found == mine.open.rend() ? mine.open.end() : std::prev(found.base());
}

}  // namespace

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const char* str(Kind kind) {
  switch (kind) {
    case Kind::Range: return "user_annotation";
    case Kind::Operator: return "operator";
    case Kind::Kernel: return "kernel";
    case Kind::Graph: return "graph";
    case Kind::Script: return "script";
    case Kind::Compile: return "compile";
    case Kind::IntraOp: return "intra-op";
    case Kind::InterOp: return "inter-op";
  }
  return "";
}

const char* intern(std::string_view text) {
  Recorder& r = recorder();
  const std::lock_guard lock(r.texts_mutex);
  return r.texts.emplace(text).first->c_str();
}

void Span::begin(const char* name, Kind kind, const char* place) noexcept {
  const int64_t number = recording.load(std::memory_order_acquire);
  try {
    const std::shared_ptr<ThreadEvents> mine = my_events(number);
    if (mine == nullptr) return;
    const std::lock_guard lock(mine->mutex);
    id_ = open_event(*mine, name, kind, place);
    recording_ = number;
  } catch (const std::bad_alloc&) {
    // A trace is not worth more than the program.
  }
}

void Span::end() noexcept {
  const int64_t end_ns = now_ns();
  if (recording_ != recording.load(std::memory_order_acquire)) return;
  try {
    const std::shared_ptr<ThreadEvents> mine = my_events(recording_);
    if (mine == nullptr) return;
    const std::lock_guard lock(mine->mutex);
    const auto found = find_open(*mine, id_);
    if (found == mine->open.end()) return;
    found->end_ns = end_ns;
    found->work = work;
    found->inputs = inputs;
    close_event(*mine, found);
  } catch (const std::bad_alloc&) {
  }
}

OpenRange::OpenRange(std::string_view name) noexcept {
  const int64_t number = recording.load(std::memory_order_acquire);
  if (!is_on()) return;
  try {
    const std::shared_ptr<ThreadEvents> mine = my_events(number);
    if (mine == nullptr) return;
    const char* const text = intern(name);
    const std::lock_guard lock(mine->mutex);
    id_ = open_event(*mine, text, Kind::Range, nullptr);
    thread_ = mine;
    recording_ = number;
  } catch (const std::bad_alloc&) {
  }
}

void OpenRange::end() noexcept {
  const std::shared_ptr<ThreadEvents> thread = std::exchange(thread_, nullptr);
  if (thread == nullptr || recording_ != recording.load(std::memory_order_acquire)) return;
  const int64_t end_ns = now_ns();
  try {
    const bool is_elsewhere = my_events(recording_) != thread;
    const std::lock_guard lock(thread->mutex);
    const auto found = find_open(*thread, id_);
    if (found == thread->open.end()) return;
    found->end_ns = end_ns;
    found->overlaps = is_elsewhere;
    close_event(*thread, found);
  } catch (const std::bad_alloc&) {
  }
}

void note_memory_now(MemoryAction action, const void* address, size_t bytes, Device device,
                     const char* text) noexcept {
  const int64_t number = recording.load(std::memory_order_acquire);
  try {
    const std::shared_ptr<ThreadEvents> thread = my_events(number);
    if (thread == nullptr) return;
    ThreadEvents& mine = *thread;
    const std::lock_guard lock(mine.mutex);
    MemoryEvent event{.time_ns = now_ns(),
                      .address = address,
                      .bytes = bytes,
                      .text = text,
                      .name = nullptr,
                      .stack = nullptr,
                      .device = device,
                      .action = action};
    const auto change = static_cast<int64_t>(bytes);
    if (!mine.open.empty() && action == MemoryAction::Allocated) mine.open.back().allocated += change;
    if (!mine.open.empty() && action == MemoryAction::Released) mine.open.back().allocated -= change;
    for (const Event& open : mine.open) {
      event.in_compilation |= open.kind == Kind::Compile;
      if (event.outer_id == 0 && open.kind != Kind::Range && !is_lane(open.kind)) event.outer_id = open.id;
      if (!is_lane(open.kind)) event.name = open.name;
    }
    if (action == MemoryAction::Allocated) event.stack = stack_of(mine, nullptr);
    if (mine.memory.size() < kMaxEventsPerThread)
      mine.memory.push_back(event);
    else
      ++mine.dropped;
  } catch (const std::bad_alloc&) {
  }
}

void set_stack_source(StackSource source) { stack_source.store(source); }
void remember_stack() {
  const StackSource source = stack_source.load(std::memory_order_relaxed);
  remembered_stack = source == nullptr ? nullptr : source();
}

void name_thread(const char* kind, int number) {
  pool_thread_name = fmt::format("{} {}", kind, number);
  // "weft intra 3": the system keeps 15 characters.
  const std::string short_kind(kind, std::strcspn(kind, "-"));
  pthread_setname_np(pthread_self(), fmt::format("weft {} {}", short_kind, number).substr(0, 15).c_str());
}

void begin_recording(uint32_t wanted) {
  Recorder& r = recorder();
  {
    const std::lock_guard lock(r.mutex);
    r.threads.clear();
  }
  recording.fetch_add(1, std::memory_order_release);
  flags.store(wanted | kEvents, std::memory_order_release);
}

void end_recording() {
  recorder().end_ns = now_ns();
  flags.store(0, std::memory_order_release);
  recording.fetch_add(1, std::memory_order_release);
}

std::vector<ThreadRecord> take_records() {
  Recorder& r = recorder();
  const bool is_over = !is_on();
  std::vector<std::shared_ptr<ThreadEvents>> threads;
  {
    const std::lock_guard lock(r.mutex);
    threads = r.threads;
  }
  const int64_t number = recording.load(std::memory_order_relaxed) - (is_over ? 1 : 0);
  std::vector<ThreadRecord> records;
  for (const auto& thread : threads) {
    if (thread->recording != number) continue;  // began as another one started or ended
    const std::lock_guard lock(thread->mutex);
    if (is_over) {
      while (!thread->open.empty()) {
        Event& event = thread->open.back();
        event.end_ns = std::max(r.end_ns, event.begin_ns);
        close_event(*thread, std::prev(thread->open.end()));
      }
    }
    ThreadRecord record;
    record.thread = thread->thread;
    record.name = thread->name;
    record.dropped = thread->dropped;
    record.events.swap(thread->events);
    record.memory.swap(thread->memory);
    thread->dropped = 0;
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace weft::profiling
