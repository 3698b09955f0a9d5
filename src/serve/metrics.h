// What a server has done, as Prometheus reads it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace weft::serve {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Counts of values up to each bound, as Prometheus' histograms have them.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void add(double value);
  // In Prometheus' text format.
  std::string text(const char* name, const char* help) const;
  int64_t count() const { return count_; }

 private:
  std::vector<double> bounds_;
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  double sum_ = 0;
};

// What stands now, and what was counted since the start.
struct Figures {
  int64_t running = 0, waiting = 0;  // texts
  int64_t pages = 0, pages_held = 0, pages_kept = 0;
  int64_t page_tokens = 0, cache_bytes = 0, weight_bytes = 0;
  int64_t requests = 0, finished = 0, cancelled = 0, failed = 0, refused = 0;  // refused: the queue was full
  int64_t prompt_tokens = 0, reused_tokens = 0, computed_tokens = 0, generated_tokens = 0;
  int64_t steps = 0, preemptions = 0, copied_pages = 0;
  double step_seconds = 0;         // in steps, all together
  double recent_step_seconds = 0;  // of one, over the last ones
  double read_gbs = 0;             // that the machine reads memory with; 0: not measured
};

// May be used by several threads at once.
class Metrics {
 public:
  template <class F>
  void update(const F& f) {
    const std::scoped_lock lock(mutex_);
    f(*this);
  }
  Figures figures() const;
  std::string text() const;

  // For update().
  Figures now;
  Histogram first_token{{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}};
  Histogram between_tokens{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}};
  Histogram whole_request{{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}};
  Histogram rows{{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}};

 private:
  mutable std::mutex mutex_;
};

}  // namespace weft::serve
