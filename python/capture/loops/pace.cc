#include "capture/loops/pace.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/perform/continuation.h"
#include "runtime/log.h"

namespace weft::capture {

namespace {

constexpr int kProbes = 4;                // rounds of each kind, before it is decided
constexpr double kAlwaysPython_us = 3;    // rounds that segments cannot be faster than
constexpr int64_t kProbeAgain = 1 << 14;  // arrivals
constexpr int64_t kManyRounds = 2000;

}  // namespace

void LoopPace::count_round(const Code* code, int at, const Loops& loops) {
  if (++rounds_[{code, at}] != kManyRounds) return;
  has_many_rounds_ = true;
  const std::string why = loops.rejection(code, at);
  log::warning(
      fmt::format("weft.compile: the loop at {}:{} runs round by round, not as native code{}{} "
                  "(WEFT_LOGS=graph_breaks says more)",
                  code->file(), code->line(at), why.empty() ? "" : ": ", why));
}

LoopOutcome LoopPace::run_rounds(State& state, Head& head, int64_t limit, Loops& loops, Ref& result,
                                 const std::function<void(std::shared_ptr<Variant>)>& report) {
  const size_t depth = state.frames.size();
  const Code* code = state.frames.back().code;
  const int at = state.frames.back().ip, end = loop_end(*code, at);
  Clock::time_point start = Clock::now();
  for (int64_t steps = 0; limit > 0; ++steps) {
    if (step(state, result) == StepResult::Returned) return LoopOutcome::Returned;
    if (state.frames.size() < depth) return LoopOutcome::Advanced;
    const Frame& frame = state.frames.back();
    if (state.frames.size() == depth) {
      if (frame.code != code || frame.ip < at || frame.ip >= end) return LoopOutcome::Advanced;
      if (frame.ip == at) {
        const Clock::time_point now = Clock::now();
        head.python_us =
            std::min(head.python_us, std::chrono::duration<double, std::micro>(now - start).count());
        ++head.python_rounds;
        --limit;
        count_round(code, at, loops);
        start = now;
        if (steps >= Loops::kStepsInTurn && can_continue_loop(state)) {
          const bool returned = continue_loop_in_python(state, result) == StepResult::Returned;
          return returned ? LoopOutcome::Returned : LoopOutcome::Advanced;
        }
        if (!serve_interpreter()) {
          unwind(state);
          return LoopOutcome::Advanced;
        }
        continue;
      }
    }
    if (loop_end(*frame.code, frame.ip) < 0) continue;
    const LoopOutcome outcome = loops.run(state, result, report);
    if (outcome == LoopOutcome::Returned) return outcome;
    if (outcome == LoopOutcome::Advanced && loops.was_useful()) steps = 0;
  }
  return LoopOutcome::NotEntered;
}

LoopOutcome LoopPace::arrive(State& state, int64_t captures, Loops& loops, Ref& result,
                             const std::function<void(std::shared_ptr<Variant>)>& report) {
  const Code* code = state.frames.back().code;
  const int at = state.frames.back().ip;
  Head& head = heads_[{code, at}];
  count_round(code, at, loops);
  if (++head.arrivals % kProbeAgain == 0) head = Head{};
  if (head.captures == captures && !head.in_python) {
    ++head.segment_rounds;
    head.segment_us = std::min(head.segment_us,
                               std::chrono::duration<double, std::micro>(Clock::now() - head.last).count());
  }
  const bool decided = head.in_python || (head.python_rounds >= kProbes && head.segment_rounds >= kProbes);
  // In turn with segments, because there may be more or less to do from round to round.
  if (!decided && head.python_rounds < kProbes && head.python_rounds <= head.segment_rounds) {
    const LoopOutcome outcome = run_rounds(state, head, 1, loops, result, report);
    if (outcome != LoopOutcome::NotEntered) return outcome;
  }
  const bool was_in_python = head.in_python;
  if (head.python_rounds >= kProbes)
    head.in_python = head.python_us < kAlwaysPython_us ||
                     (head.segment_rounds >= kProbes && head.python_us < head.segment_us);
  if (head.in_python) {
    if (!was_in_python)
      log::write(log::Channel::GraphBreaks,
                 fmt::format("{}:{}: the loop goes on in Python, where a round takes {:.1f} us", code->file(),
                             code->line(at), head.python_us));
    return run_rounds(state, head, INT64_MAX, loops, result, report);
  }
  head.captures = captures;
  head.last = Clock::now();
  return LoopOutcome::NotEntered;
}

}  // namespace weft::capture
