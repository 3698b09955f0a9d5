// weft::profiler: starting, stopping, and the thread that writes a trace while the program runs.
#include "weft/profiler.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "core/profiling.h"
#include "runtime/recording.h"
#include "runtime/trace_file.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

using profiling::ThreadRecord;

int64_t trace_limit() { return env::number("WEFT_TRACE_LIMIT").value_or(INT64_MAX); }

uint32_t flags_of(const profiler::Options& options) {
  return profiling::kEvents | (options.record_shapes ? profiling::kInputs : 0u) |
         (options.profile_memory ? profiling::kMemory : 0u) | (options.with_stack ? profiling::kStacks : 0u);
}

// A recording that goes on.
class Session {
 public:
  explicit Session(profiler::Options options) : options_(std::move(options)) {
    begin_ns_ = profiling::now_ns();
    if (options_.trace_path.empty()) return;
    file_ = std::make_unique<TraceFile>(options_.trace_path, "profiler.start", begin_ns_, trace_limit());
  }

  // After begin_recording().
  void begin() {
    if (file_ != nullptr) writer_ = std::thread([this] { write_while_it_runs(); });
  }

  const std::string& path() const { return options_.trace_path; }
  uint32_t flags() const { return flags_of(options_); }

  // After end_recording().
  std::shared_ptr<const profiler::Recording> finish() {
    const int64_t end_ns = profiling::now_ns();
    if (writer_.joinable()) {
      {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
      }
      wake_.notify_one();
      writer_.join();
    }
    take();
    if (file_ != nullptr) file_->finish();
    return make_recording({.begin_ns = begin_ns_,
                           .end_ns = end_ns,
                           .has_memory = options_.profile_memory,
                           .trace_limit = trace_limit(),
                           .threads = std::move(kept_)});
  }

 private:
  profiler::Options options_;
  int64_t begin_ns_ = 0;
  std::unique_ptr<TraceFile> file_;
  const Peaks* peaks_ = nullptr;  // looked for with the first events: not while the library is being loaded
  bool knows_peaks_ = false;
  std::vector<ThreadRecord> kept_;
  std::thread writer_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;

  void write_while_it_runs() {
    pthread_setname_np(pthread_self(), "weft profiler");
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(100), [&] { return is_over_; })) take();
  }

  void take() {
    std::vector<ThreadRecord> records = profiling::take_records();
    if (file_ != nullptr) {
      if (!records.empty() && !std::exchange(knows_peaks_, true)) peaks_ = known_peaks();
      file_->add(records, peaks_);
    }
    if (!options_.keep) return;
    for (ThreadRecord& record : records) keep(std::move(record));
  }

  void keep(ThreadRecord record) {
    for (ThreadRecord& kept : kept_) {
      if (kept.thread != record.thread || kept.name != record.name) continue;
      kept.dropped +=
          record.dropped + append(kept.events, record.events) + append(kept.memory, record.memory);
      return;
    }
    kept_.push_back(std::move(record));
  }
  // How many have no room.
  template <class T>
  static size_t append(std::vector<T>& to, const std::vector<T>& from) {
    const size_t count = std::min(from.size(), profiling::kMaxEventsPerThread - to.size());
    to.insert(to.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
    return from.size() - count;
  }
};

struct Profiler {
  std::mutex mutex;
  std::unique_ptr<Session> session;
};
// Another one in a child of fork(), where the thread that writes is not there.
std::atomic<Profiler*> current_profiler{nullptr};

// Registered as the library is loaded (under_way.cc says why).
[[maybe_unused]] const int profiler_at_fork =
    pthread_atfork(nullptr, nullptr, [] { current_profiler.store(nullptr); });

Profiler& the_profiler() {
  Profiler* profiler = current_profiler.load(std::memory_order_acquire);
  if (profiler != nullptr) return *profiler;
  auto made = std::make_unique<Profiler>();
  if (current_profiler.compare_exchange_strong(profiler, made.get())) return *made.release();
  return *profiler;
}

// "%p" is the number of the process.
std::string path_of_process(std::string path) {
  if (const size_t at = path.find("%p"); at != std::string::npos)
    path.replace(at, 2, std::to_string(getpid()));
  return path;
}

// WEFT_TRACE, when the library is loaded. A program whose trace cannot be written does not begin.
[[gnu::constructor]] void start_from_environment() {
  const char* path = std::getenv("WEFT_TRACE");
  if (path == nullptr || *path == '\0') return;
  try {
    profiler::start(path_of_process(path));
  } catch (const Error& error) {
    std::fprintf(stderr, "weft: WEFT_TRACE: %s\n", error.what());
    std::fflush(stderr);
    ::_exit(2);
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
}  // namespace weft::runtime

namespace weft::profiler {

using runtime::Profiler;
using runtime::Session;

void start(const Options& options) {
  Profiler& p = runtime::the_profiler();
  const std::lock_guard lock(p.mutex);
  if (p.session != nullptr) {
    throw_error(
        ErrorKind::Runtime,
        fmt::format("profiler.start: already recording{}; profiles do not nest: call profiler.stop, or "
                    "leave the profile around, first",
                    p.session->path().empty() ? "" : " for '" + p.session->path() + "'"));
  }
  p.session = std::make_unique<Session>(options);
  profiling::begin_recording(p.session->flags());
  p.session->begin();
}

void start(const std::string& path) { start(Options{.trace_path = path, .keep = false}); }

std::shared_ptr<const Recording> stop() {
  Profiler& p = runtime::the_profiler();
  const std::lock_guard lock(p.mutex);
  if (p.session == nullptr)
    throw_error(ErrorKind::Runtime, "profiler.stop: not recording; call profiler.start first");
  profiling::end_recording();
  const std::unique_ptr<Session> session = std::move(p.session);
  return session->finish();
}

bool enabled() { return profiling::is_on(); }

RecordFunction::RecordFunction(std::string_view name) {
  if (profiling::is_on()) range_ = std::make_unique<profiling::OpenRange>(name);
}
RecordFunction::~RecordFunction() {
  if (range_ != nullptr) range_->end();
}

void note_parameter(const Tensor& tensor, std::string_view name) {
  if (!tensor.defined() || tensor.is_traced() || !profiling::is_on(profiling::kMemory)) return;
  const Storage& storage = *tensor.storage();
  profiling::note_memory(profiling::MemoryAction::IsParameter, storage.data(), storage.nbytes(),
                         storage.device(), profiling::intern(name));
}

}  // namespace weft::profiler
