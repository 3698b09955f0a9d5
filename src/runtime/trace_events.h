// Spans of time for weft::profiler.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::runtime {

inline std::atomic<bool> tracing{false};

// Records the time from its construction to its destruction on the calling thread, while the profiler is on;
// otherwise it costs one relaxed load. Spans that are open when the profiler stops end there.
class Span {
 public:
  explicit Span(const char* name, const char* category = "op") {
    if (tracing.load(std::memory_order_relaxed)) begin(name, category);
  }
  ~Span() {
    if (recording_ != 0) end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  void begin(const char* name, const char* category) noexcept;
  void end() noexcept;

  int64_t recording_ = 0;  // the one that has the span; 0: none
};

// The calling thread's name in traces ("intra-op 3"), and in debuggers and `top -H` ("weft intra 3").
void name_thread(const char* kind, int number);

}  // namespace weft::runtime
