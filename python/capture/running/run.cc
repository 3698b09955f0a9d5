#include "capture/running/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "capture/guards/float_warnings.h"
#include "capture/perform/continuation.h"
#include "capture/perform/program_frame.h"
#include "capture/values/advice.h"
#include "errors.h"
#include "runtime/interruption.h"
#include "weft/error.h"

namespace weft::capture {

namespace {

// Up to these, every call that fits none is captured. From there on, one is when calls that fit none have
// spent so many times what a capture takes: what repeats is compiled in the end, and what never repeats costs
// a fraction.
constexpr size_t kMaxVariants = 8;
constexpr double kMissesPerCapture = 4;
constexpr double kCostly_ms = 1000;
// However long they take: a cache that is empty, that has one element, two, and any number.
constexpr size_t kFewVariants = 4;
constexpr size_t kMostVariants = 64;
// Of a segment that takes long to capture, and computes with no array.
constexpr size_t kMaxPlainVariants = 3;
constexpr double kMuch_ms = 20;

bool is_range_iterator(const Ref& value) { return value && Py_TYPE(value.get()) == &PyRangeIter_Type; }

Op current_op(const State& state) {
  const Frame& frame = state.frames.back();
  return frame.code->instructions[static_cast<size_t>(frame.ip)].op;
}

// At the head of a `for` loop over a range.
bool at_range(const State& state) {
  return current_op(state) == Op::ForIter && is_range_iterator(state.frames.back().stack.back());
}

bool is_call(const State& state) {
  const Op op = current_op(state);
  return op == Op::Call || op == Op::CallKw || op == Op::CallEx;
}

// The iteration step, jump and exception instructions whose real execution is followed by more of the same.
bool concrete_only(Op op) {
  switch (op) {
    case Op::PushExcInfo:
    case Op::PopExcept:
    case Op::CheckExcMatch:
    case Op::Reraise:
    case Op::Raise:
    case Op::WithExceptStart:
    case Op::LoadBuildClass:
    case Op::BuildSet:
    case Op::SetAdd:
    case Op::SetUpdate:
    case Op::MatchClass:
    case Op::MatchKeys: return true;
    default: return false;
  }
}

// Every depth would have segments of its own.
bool is_deep_recursion(const State& state) {
  constexpr auto kMost = 3;
  const Code* code = state.frames.back().code;
  return std::count_if(state.frames.begin(), state.frames.end(),
                       [&](const Frame& frame) { return frame.code == code; }) > kMost;
}

// How many variants of the segment are captured without waiting: as many as there are where that took long.
size_t usual_variants(const Segment& here) {
  if (here.variants.size() >= kFewVariants && here.captured_ms > kCostly_ms)
    return std::min(here.variants.size(), kMaxVariants);
  double spent_ms = 0;  // without having computed with an array
  for (const auto& one : here.variants) {
    if (one->executable) return kMaxVariants;
    spent_ms += one->capture_ms;
  }
  return spent_ms > kMuch_ms ? kMaxPlainVariants : kMaxVariants;
}

// Sizes of what the last operator gave depend on values: symbolic from the first capture on.
void expect_sizes(History& history, const State& state) {
  const size_t frame = state.frames.size() - 1, top = state.frames.back().stack.size() - 1;
  const std::string source = fmt::format("stack[{}][{}]", frame, top);
  if (!history.expect_change(source + ".shape[0]")) return;
  for (int item = 0; item < 4; ++item) history.expect_change(fmt::format("{}[{}].shape[0]", source, item));
}

// In a loop over a range, its counter is another one in the next round, as are those of the loops around:
// symbolic from the first capture on.
void expect_counters(History& history, const State& state) {
  const Frame& frame = state.frames.back();
  if (std::none_of(frame.stack.begin(), frame.stack.end(), is_range_iterator)) return;
  const size_t depth = state.frames.size() - 1;
  for (int head = 0; head < frame.ip; ++head) {
    if (loop_end(*frame.code, head) <= frame.ip) continue;
    const Instruction& next = frame.code->instructions[static_cast<size_t>(head) + 1];
    if (head + 1 == frame.ip)
      history.expect_change(fmt::format("stack[{}][{}]", depth, frame.stack.size() - 1));
    else if (next.op == Op::StoreFast)
      history.expect_change(fmt::format("local[{}].{}", depth,
                                        utf8(frame.code->local_names[static_cast<size_t>(next.arg)].get())));
  }
}

// What Python would have to perform: on 'meta' there are no elements.
[[noreturn]] void refuse_on_meta(const Variant& variant) {
  throw_error(ErrorKind::NotImplemented,
              fmt::format("weft.compile on device 'meta', where nothing has elements: {}\n  at {}:{}\n    {}",
                          variant.break_reason, variant.break_file, variant.break_line,
                          source_line(variant.break_file, variant.break_line)));
}
[[noreturn]] void refuse_on_meta(const State& state, std::string_view why) {
  const Frame& frame = state.frames.back();
  throw_error(ErrorKind::NotImplemented,
              fmt::format("weft.compile on device 'meta', where nothing has elements: {}: {}\n  at {}:{}",
                          frame.code->name(), why, frame.code->file(), frame.code->line(frame.ip)));
}

// With fullgraph=True nothing of a call is Python's.
void refuse_a_break(const State& state, const std::string& reason) {
  const Frame& frame = state.frames.back();
  const int line = frame.code->line(frame.ip);
  python::set_error(
      PyExc_RuntimeError,
      fmt::format("weft.compile(fullgraph=True): {}\n  at {}:{}\n    {}\n  {}", reason, frame.code->file(),
                  line, source_line(frame.code->file(), line), advice_for(reason)));
  throw PythonError{};
}

}  // namespace

Ref CompiledFunction::Run::to_end() {
  while (advance() != LoopOutcome::Returned) {
  }
  // A break costs about a microsecond, as much as all of a small function. Native loops may be far from what
  // Python takes for them.
  constexpr double kSmall_ms = 0.03;
  if (has_break_ && !has_native_loop_ && is_within(kSmall_ms)) function_.captures_.calls->suspect_small();
  return std::move(result_);
}

LoopOutcome CompiledFunction::Run::advance() {
  chosen_ = choices();
  if (loops_ != function_.captures_.loops) loops_ = function_.captures_.loops;
  if (const LoopOutcome native = enter_native_loop(); native != LoopOutcome::NotEntered) {
    has_native_loop_ = true;
    return native;
  }
  if (is_observed(state_)) return perform_observed();
  const std::shared_ptr<Segment> here = segment_here();
  if (here->given_up) {
    if (chosen_.on_meta()) refuse_on_meta(state_, "it cannot be captured");
    return finish();
  }
  std::shared_ptr<Variant> variant = matching(*here);
  if (!variant) {
    if (gives_up_on(*here)) return LoopOutcome::Advanced;
    if (waits_to_capture(*here)) return run_as_it_is(*here);
    CaptureOutcome captured = capture(*here);
    if (captured.kind == CaptureOutcome::Kind::Again) return LoopOutcome::Advanced;
    if (captured.kind == CaptureOutcome::Kind::Failed) {
      // The interrupt may have been what failed.
      if (serve_interpreter())
        function_.settings_.fullgraph ? refuse_a_break(state_, captured.reason)
                                      : give_up(*here, captured.reason);
      else
        unwind(state_);
      return LoopOutcome::Advanced;
    }
    variant = std::move(captured.variant);
    if (!variant->guards.check(state_.frames, registers_)) {
      // The state does not satisfy guards made from it (an object that compares unequal to itself).
      std::erase(here->variants, variant);
      if (chosen_.on_meta()) refuse_on_meta(state_, "it cannot be captured");
      function_.fall_back(
          state_.frames.back(),
          "what it is guarded by does not hold for itself (an object that is not equal to itself)");
      return perform_rest();
    }
    if (!serve_interpreter()) {  // interrupted during capture
      unwind(state_);
      return LoopOutcome::Advanced;
    }
  }
  if (chosen_.on_meta()) {
    if (!variant->returns) refuse_on_meta(*variant);
    return returned(variant->run_on_meta(registers_));
  }
  if (const LoopOutcome ran = run_variant(*variant); ran != LoopOutcome::NotEntered) return ran;
  return go_on_behind(*variant);
}

// ---- what fits where the state is ----

// One instruction: the program holds the frame, and may look at it.
LoopOutcome CompiledFunction::Run::perform_observed() {
  if (chosen_.on_meta()) refuse_on_meta(state_, "the program holds its frame");
  if (step(state_, result_) == StepResult::Returned) return LoopOutcome::Returned;
  if (!serve_interpreter()) unwind(state_);
  return LoopOutcome::Advanced;
}

// ---- capturing ----

bool CompiledFunction::Run::gives_up_on(Segment& here) {
  if (!is_deep_recursion(state_) || chosen_.on_meta()) return false;
  function_.captures_.calls->suspect();
  give_up(here, "a recursion whose depth is not known beforehand");
  return true;
}

bool CompiledFunction::Run::waits_to_capture(Segment& here) {
  const size_t usual = usual_variants(here), count = here.variants.size();
  if (count < usual || chosen_.on_meta()) return false;
  if (count == usual && here.missed_ms == 0) {
    function_.captures_.calls->suspect();
    function_.fall_back(state_.frames.back(),
                        fmt::format("it was compiled {} times there and still meets other arguments "
                                    "(WEFT_LOGS=recompiles says why)",
                                    count));
  }
  return count >= kMostVariants ||
         here.missed_ms < kMissesPerCapture * here.captured_ms / static_cast<double>(count);
}

LoopOutcome CompiledFunction::Run::run_as_it_is(Segment& here) {
  const auto start = Clock::now();
  const LoopOutcome outcome = finish();
  here.missed_ms += milliseconds_since(start);
  return outcome;
}

CaptureOutcome CompiledFunction::Run::capture(Segment& here) {
  using Kind = CaptureOutcome::Kind;
  if (here.variants.empty()) expect_counters(here.history, state_);
  const auto start = Clock::now();
  try {
    CaptureOutcome outcome{Kind::Captured, function_.capture(here, state_, chosen_), {}};
    here.captured_ms += milliseconds_since(start);
    here.missed_ms = 0;
    return outcome;
  } catch (const CaptureAborted& aborted) {
    const bool again = aborted.then == CaptureAborted::Then::CaptureAgain;
    return {again ? Kind::Again : Kind::Failed, nullptr, aborted.reason};
  } catch (const GraphBreak& broken) {
    return {Kind::Failed, nullptr, broken.reason};
  } catch (const Error& error) {
    return {Kind::Failed, nullptr, error.what()};
  }
}

void CompiledFunction::Run::give_up(Segment& here, const std::string& reason) {
  here.given_up = true;
  function_.fall_back(state_.frames.back(), reason);
}

void CompiledFunction::Run::report_loop(std::shared_ptr<Variant> loop) {
  counters().kernels += static_cast<int64_t>(loop->kernels.size());
  function_.captures_.in_order.push_back(std::move(loop));
}

// ---- running ----

// NotEntered: it has run, and its end is not the call's.
LoopOutcome CompiledFunction::Run::run_variant(const Variant& variant) {
  constexpr int64_t kTimed = 64;  // the clock costs as much as a small graph
  constexpr int kManySegments = 16;
  constexpr double kShort_ms = 100;  // so that timing the call in Python costs little
  const bool is_timed = variant.runs < kTimed || variant.runs % kTimed == 0;
  const auto start = is_timed ? Clock::now() : Clock::time_point();
  Ref result;
  try {
    result = variant.run(registers_, state_);
  } catch (const WarningRaised&) {
    return LoopOutcome::Advanced;
  } catch (const ErrorHandled&) {
    return perform_rest();
  } catch (const runtime::Interrupted&) {  // the exception of a signal's handler is set
    unwind(state_);
    return LoopOutcome::Advanced;
  } catch (const GraphFailed& failed) {
    // Performed for real, the operation raises NumPy's own exception.
    if (failed.kind == ErrorKind::NotImplemented || failed.kind == ErrorKind::Internal)
      function_.fall_back(state_.frames.back(), failed.message);
    return perform_rest();
  }
  if (is_timed) variant.run_ms = milliseconds_since(start);
  ++variant.runs;
  ++counters().runs;
  if (++num_segments_ == kManySegments && is_within(kShort_ms)) function_.captures_.calls->suspect();
  return variant.returns ? returned(std::move(result)) : LoopOutcome::NotEntered;
}

// The variant has run to where its graph ends.
LoopOutcome CompiledFunction::Run::go_on_behind(const Variant& variant) {
  if (!serve_interpreter()) {
    unwind(state_);
    return LoopOutcome::Advanced;
  }
  if (variant.is_last) {
    function_.captures_.calls->suspect();
    function_.fall_back(state_.frames.back(), variant.break_reason);
    return finish();
  }
  if (variant.enters_loop) return LoopOutcome::Advanced;
  if (variant.is_broken()) {
    ++counters().breaks;
    has_break_ = true;
  }
  if (variant.enters_plain_loop) return perform_plain_loop();
  if (chosen_.are_usual() && at_range(state_))
    if (const LoopOutcome round = go_round(); round != LoopOutcome::NotEntered) return round;
  return perform_instructions(variant);
}

LoopOutcome CompiledFunction::Run::perform_plain_loop() {
  if (!can_continue_loop(state_)) return returned(loops_->finish(state_, reporter()));
  const StepResult left = continue_loop_in_python(state_, result_);
  return left == StepResult::Returned ? LoopOutcome::Returned : LoopOutcome::Advanced;
}

// At the head of a loop whose rounds are segments: native, or at Python's pace, where that is faster.
LoopOutcome CompiledFunction::Run::go_round() {
  const LoopOutcome native = loops_->run(state_, result_, reporter());
  if (native != LoopOutcome::NotEntered) return native;
  const std::shared_ptr<LoopPace> pace = function_.captures_.pace;
  const LoopOutcome paced = pace->arrive(state_, counters().captures, *loops_, result_, reporter());
  if (pace->has_many_rounds()) function_.captures_.calls->suspect();
  return paced;
}

// What ended the graph, for real.
LoopOutcome CompiledFunction::Run::perform_instructions(const Variant& variant) {
  const bool is_sized = variant.ends_planned && variant.runs == 1 && is_call(state_);
  do {
    if (step(state_, result_) == StepResult::Returned) return LoopOutcome::Returned;
  } while (concrete_only(current_op(state_)));
  if (is_sized) expect_sizes(function_.segment(state_, choices())->history, state_);
  return LoopOutcome::Advanced;
}

LoopOutcome CompiledFunction::Run::finish() {
  return chosen_.are_usual() ? returned(loops_->finish(state_, reporter())) : perform_rest();
}

LoopOutcome CompiledFunction::Run::perform_rest() { return returned(run_concretely(state_)); }

}  // namespace weft::capture
