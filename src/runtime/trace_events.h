// Spans of time for weft::profiler.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::runtime {

inline std::atomic<bool> tracing{false};

// Records the time from its construction to its destruction on the calling thread, while the profiler is on;
// otherwise it costs one relaxed load. The texts outlive the span.
class Span {
 public:
  explicit Span(const char* name, const char* category = "op") {
    if (tracing.load(std::memory_order_relaxed)) begin(name, category);
  }
  ~Span() {
    if (name_ != nullptr) end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  void begin(const char* name, const char* category) noexcept;
  void end() noexcept;

  const char* name_ = nullptr;
  const char* category_ = nullptr;
  int64_t begin_ns_ = 0;
};

// The calling thread's name in traces, debuggers and `top -H`; up to 15 characters.
void name_thread(const char* kind, int number);

}  // namespace weft::runtime
