// Long loops over array statements: a segment per round, or Python's own pace where that is faster (small
// arrays).
#pragma once

#include <chrono>
#include <map>

#include "capture/loops/loops.h"

namespace weft::capture {

class LoopPace {
 public:
  // The state is at the head of a `for` loop over a range whose rounds are segments. May run rounds in
  // Python, to compare or because that was faster; `captures`: how many there have been, because rounds that
  // captured do not count.
  LoopOutcome arrive(State& state, int64_t captures, Loops& loops, Ref& result,
                     const std::function<void(std::shared_ptr<Variant>)>& report);

  // One by one, in some loop.
  bool has_many_rounds() const { return has_many_rounds_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Head {
    double python_us = 1e30, segment_us = 1e30;  // of the fastest round
    int python_rounds = 0, segment_rounds = 0;
    int64_t arrivals = 0, captures = -1;
    Clock::time_point last;
    bool in_python = false;
  };
  LoopOutcome run_rounds(State& state, Head& head, int64_t limit, Loops& loops, Ref& result,
                         const std::function<void(std::shared_ptr<Variant>)>& report);
  // Counts a round and says once, with the line, that there were many of them one by one.
  void count_round(const Code* code, int at, const Loops& loops);

  std::map<std::pair<const Code*, int>, Head> heads_;
  std::map<std::pair<const Code*, int>, int64_t> rounds_;
  bool has_many_rounds_ = false;
};

}  // namespace weft::capture
