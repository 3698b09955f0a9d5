// One call of a compiled function on its way through the function's segments.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "capture/running/segments.h"

namespace weft::capture {

// What capturing a segment from the state at hand came to.
struct CaptureOutcome {
  enum class Kind : uint8_t {
    Captured,  // `variant`
    Again,     // it has learned why it could not go on: the next capture goes otherwise
    Failed,    // `reason`: Python performs what follows
  };
  Kind kind;
  std::shared_ptr<Variant> variant;
  std::string reason;
};

// Goes on from its state with what fits there: a native loop, a variant of the segment, which may have to be
// captured first, or Python's own instructions. What it uses of the function is held meanwhile: guards,
// graphs and instructions may run Python code that resets the function or captures again.
class CompiledFunction::Run {
 public:
  Run(CompiledFunction& function, State&& state) : function_(function), state_(std::move(state)) {}
  // What the outermost frame returns. Throws PythonError.
  Ref to_end();

 private:
  using Clock = std::chrono::steady_clock;

  void report_loop(std::shared_ptr<Variant> loop);
  auto reporter() {
    return [this](std::shared_ptr<Variant> loop) { report_loop(std::move(loop)); };
  }

  // Each step leaves the state where it is (NotEntered), moves it on, or ends the call with `result_`.
  LoopOutcome advance();
  LoopOutcome enter_native_loop() {
    if (!chosen_.are_usual()) return LoopOutcome::NotEntered;
    if (is_at_beginning() && !function_.settings_.fullgraph)
      if (const LoopOutcome whole = loops_->run_whole(state_, result_, reporter());
          whole != LoopOutcome::NotEntered)
        return whole;
    return loops_->run(state_, result_, reporter());
  }
  bool is_at_beginning() const { return state_.frames.size() == 1 && state_.frames[0].ip == 0; }
  LoopOutcome perform_observed();
  LoopOutcome run_variant(const Variant& variant);
  LoopOutcome go_on_behind(const Variant& variant);
  LoopOutcome perform_plain_loop();
  LoopOutcome go_round();
  LoopOutcome perform_instructions(const Variant& variant);
  // Python performs all that is left of the call.
  LoopOutcome finish();
  LoopOutcome perform_rest();
  LoopOutcome returned(Ref&& result) {
    result_ = std::move(result);
    return LoopOutcome::Returned;
  }

  std::shared_ptr<Segment> segment_here() {
    const bool is_root = is_at_beginning() && function_.captures_.root && chosen_.are_usual();
    return is_root ? function_.captures_.root : function_.segment(state_, chosen_);
  }
  // The first of which the guards hold, with `registers_` filled; or null.
  std::shared_ptr<Variant> matching(const Segment& here) {
    for (size_t i = 0; i < here.variants.size(); ++i) {
      std::shared_ptr<Variant> candidate = here.variants[i];
      if (candidate->guards.check(state_.frames, registers_)) return candidate;
    }
    return nullptr;
  }
  // Has the call taken less time so far? Not known of the first that asks.
  bool is_within(double ms) const {
    function_.captures_.is_timed = true;
    return is_timed_ && milliseconds_since(arrival_) < ms;
  }
  CaptureOutcome capture(Segment& here);
  // Says why, and that no more is to be captured there, where that would go on and on.
  bool gives_up_on(Segment& here);
  bool waits_to_capture(Segment& here);
  LoopOutcome run_as_it_is(Segment& here);
  void give_up(Segment& here, const std::string& reason);

  CompiledFunction& function_;
  State state_;
  Choices chosen_;                // as they are in this step
  std::shared_ptr<Loops> loops_;  // the function's, held in this step
  Registers registers_;
  Ref result_;
  int num_segments_ = 0;
  bool has_break_ = false, has_native_loop_ = false;
  // The clock costs as much as a small loop: calls are timed once one has come to where their time decides.
  const bool is_timed_ = function_.captures_.is_timed;
  const Clock::time_point arrival_ = is_timed_ ? Clock::now() : Clock::time_point();
};

}  // namespace weft::capture
