#include "runtime/trace_events.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/log.h"
#include "weft/error.h"
#include "weft/profiler.h"

namespace weft::runtime {
namespace {

constexpr size_t kMaxEventsPerThread = size_t{1} << 20;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Event {
  std::string name;
  std::string category;
  int64_t begin_ns;
  int64_t end_ns;
};

// One thread's events. The lock is contended only while a trace is started or written.
struct ThreadEvents {
  std::mutex mutex;
  int64_t recording = 0;  // the one that `events` belong to
  std::vector<Event> events;
  std::vector<Event> open;  // begun and not ended, outermost first
  size_t dropped = 0;
  pid_t thread = 0;
  std::string thread_name;
};

struct Recorder {
  std::mutex mutex;
  std::string path;
  int64_t begin_ns = 0;
  std::vector<std::shared_ptr<ThreadEvents>> threads;
};
// Never destroyed: threads record until the process is gone. Another one in a child of fork().
std::atomic<Recorder*> current{nullptr};
std::atomic<int64_t> recording{0};

Recorder& recorder() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    tracing.store(false);
    current.store(nullptr);
    recording.fetch_add(1);
  });
  (void)registered;
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

// The calling thread's events of the recording `number`.
ThreadEvents& my_events(int64_t number) {
  thread_local std::shared_ptr<ThreadEvents> mine;
  if (mine == nullptr || mine->recording != number) {
    mine = std::make_shared<ThreadEvents>();
    mine->recording = number;
    mine->thread = static_cast<pid_t>(syscall(SYS_gettid));
    mine->thread_name = name_of_thread(mine->thread);
    Recorder& r = recorder();
    const std::lock_guard lock(r.mutex);
    r.threads.push_back(mine);
  }
  return *mine;
}

std::string json_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// Chrome's trace event format: a complete event per span, times in microseconds, and a name per thread.
std::string trace_json(const std::vector<std::shared_ptr<ThreadEvents>>& threads, int64_t begin_ns,
                       int64_t end_ns) {
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  const pid_t process = getpid();
  fmt::format_to(std::back_inserter(text),
                 R"({{"name": "process_name", "ph": "M", "pid": {}, "args": {{"name": "weft"}}}})", process);
  for (const auto& thread : threads) {
    if (thread->recording != recording.load(std::memory_order_relaxed))
      continue;  // began as this one started
    const std::lock_guard lock(thread->mutex);
    fmt::format_to(std::back_inserter(text),
                   ",\n"
                   R"({{"name": "thread_name", "ph": "M", "pid": {}, "tid": {}, "args": {{"name": {}}}}})",
                   process, thread->thread, json_string(thread->thread_name));
    const auto add = [&](const Event& event, int64_t event_end_ns) {
      fmt::format_to(
          std::back_inserter(text),
          ",\n"
          R"({{"name": {}, "cat": {}, "ph": "X", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}}})",
          json_string(event.name), json_string(event.category), process, thread->thread,
          static_cast<double>(event.begin_ns - begin_ns) * 1e-3,
          static_cast<double>(event_end_ns - event.begin_ns) * 1e-3);
    };
    for (const Event& event : thread->events) add(event, event.end_ns);
    for (const Event& event : thread->open) add(event, std::max(end_ns, event.begin_ns));
    if (thread->dropped > 0) {
      log::warning(fmt::format("profiler: {} later events of thread '{}' were not kept", thread->dropped,
                               thread->thread_name));
    }
  }
  return text + "\n]}\n";
}

void write_file(const std::string& path, const std::string& text, const char* function) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) good = std::fclose(file) == 0 && good;
  if (!good) {
    throw_error(ErrorKind::Runtime,
                fmt::format("{}: cannot write '{}': {}", function, path, std::strerror(errno)));
  }
}

// WEFT_TRACE, when the library is loaded.
[[gnu::constructor]] void start_from_environment() {
  const char* path = std::getenv("WEFT_TRACE");
  if (path == nullptr || *path == '\0') return;
  try {
    profiler::start(path);
  } catch (const Error& error) {
    std::fprintf(stderr, "weft: WEFT_TRACE: %s\n", error.what());
    return;
  }
  std::atexit([] {
    if (!profiler::enabled()) return;
    try {
      profiler::stop();
    } catch (const Error& error) {
      std::fprintf(stderr, "weft: WEFT_TRACE: %s\n", error.what());
    }
  });
}

}  // namespace

void Span::begin(const char* name, const char* category) noexcept {
  const int64_t number = recording.load(std::memory_order_acquire);
  try {
    ThreadEvents& mine = my_events(number);
    const std::lock_guard lock(mine.mutex);
    mine.open.push_back({name, category, now_ns(), 0});
    recording_ = number;
  } catch (const std::bad_alloc&) {
    // A trace is not worth more than the program.
  }
}

void Span::end() noexcept {
  const int64_t end_ns = now_ns();
  if (recording_ != recording.load(std::memory_order_acquire)) return;
  ThreadEvents& mine = my_events(recording_);
  const std::lock_guard lock(mine.mutex);
  mine.open.back().end_ns = end_ns;
  try {
    if (mine.events.size() == kMaxEventsPerThread) {
      ++mine.dropped;
    } else {
      mine.events.push_back(std::move(mine.open.back()));
    }
  } catch (const std::bad_alloc&) {
    ++mine.dropped;
  }
  mine.open.pop_back();
}

void name_thread(const char* kind, int number) {
  pool_thread_name = fmt::format("{} {}", kind, number);
  // "weft intra 3": the system keeps 15 characters.
  const std::string short_kind(kind, std::strcspn(kind, "-"));
  pthread_setname_np(pthread_self(), fmt::format("weft {} {}", short_kind, number).substr(0, 15).c_str());
}

}  // namespace weft::runtime

namespace weft::profiler {

using runtime::Recorder;

void start(const std::string& path) {
  Recorder& r = runtime::recorder();
  const std::lock_guard lock(r.mutex);
  if (enabled()) {
    throw_error(ErrorKind::Runtime, fmt::format("profiler.start: already recording for '{}'", r.path));
  }
  runtime::write_file(path, "", "profiler.start");
  r.path = path;
  r.threads.clear();
  r.begin_ns = runtime::now_ns();
  runtime::recording.fetch_add(1, std::memory_order_release);
  runtime::tracing.store(true, std::memory_order_release);
}

void stop() {
  Recorder& r = runtime::recorder();
  const std::lock_guard lock(r.mutex);
  if (!enabled()) throw_error(ErrorKind::Runtime, "profiler.stop: not recording; call profiler.start first");
  runtime::tracing.store(false, std::memory_order_release);
  const std::string text = runtime::trace_json(r.threads, r.begin_ns, runtime::now_ns());
  r.threads.clear();
  runtime::write_file(r.path, text, "profiler.stop");
}

bool enabled() { return runtime::tracing.load(std::memory_order_acquire); }

}  // namespace weft::profiler
