#include "capture/running/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "capture/evaluate/advice.h"
#include "capture/perform/continuation.h"
#include "capture/numpy/float_warnings.h"
#include "capture/evaluate/frame_readers.h"
#include "capture/objects/made_once.h"
#include "capture/objects/program_frame.h"
#include "errors.h"
#include "interpreter_lock.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::capture {

namespace {

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::set<CompiledFunction*>& all_functions() {
  static auto& functions = *new std::set<CompiledFunction*>;
  return functions;
}

std::string key_of(const State& state, const Choices& chosen) {
  std::string key = chosen.str();
  key.reserve(state.frames.size() * 24);
  const auto add = [&](const void* data, size_t size) { key.append(static_cast<const char*>(data), size); };
  for (const Frame& frame : state.frames) {
    const void* parts[] = {frame.code, frame.globals.get()};
    add(parts, sizeof parts);
    const int numbers[] = {frame.ip, static_cast<int>(frame.on_return), static_cast<int>(frame.stack.size())};
    add(numbers, sizeof numbers);
    uint64_t bound = 0;
    for (size_t i = 0; i < frame.locals.size(); ++i)
      bound = bound * 2 + (frame.locals[i] ? 1 : 0) + (bound >> 63);
    for (const Ref& value : frame.stack) bound = bound * 2 + (value ? 1 : 0) + (bound >> 63);
    add(&bound, sizeof bound);
  }
  return key;
}

bool is_range_iterator(const Ref& value) { return value && Py_TYPE(value.get()) == &PyRangeIter_Type; }

// At the head of a `for` loop over a range.
bool at_range(const State& state) {
  const Frame& frame = state.frames.back();
  return frame.code->instructions[static_cast<size_t>(frame.ip)].op == Op::ForIter &&
         is_range_iterator(frame.stack.back());
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

bool is_call(const State& state) {
  const Op op = state.frames.back().code->instructions[static_cast<size_t>(state.frames.back().ip)].op;
  return op == Op::Call || op == Op::CallKw || op == Op::CallEx;
}

// Sizes of what the last operator gave depend on values: symbolic from the first capture on.
void expect_sizes(History& history, const State& state) {
  const size_t frame = state.frames.size() - 1, top = state.frames.back().stack.size() - 1;
  const std::string source = fmt::format("stack[{}][{}]", frame, top);
  if (!history.changing.insert(source + ".shape[0]").second) return;
  for (int item = 0; item < 4; ++item) history.changing.insert(fmt::format("{}[{}].shape[0]", source, item));
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
      history.changing.insert(fmt::format("stack[{}][{}]", depth, frame.stack.size() - 1));
    else if (next.op == Op::StoreFast)
      history.changing.insert(fmt::format(
          "local[{}].{}", depth, utf8(frame.code->local_names[static_cast<size_t>(next.arg)].get())));
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

}  // namespace

Counters& counters() {
  static constinit Counters instance;
  return instance;
}

void reset_all() {
  // All is taken before anything of it ends: an object that a guard holds may run Python code then, in any
  // thread.
  std::vector<Captures> taken;
  for (CompiledFunction* function : std::exchange(all_functions(), {})) taken.push_back(function->take());
  counters() = Counters{};
}

void CompiledFunction::reset() {
  all_functions().erase(this);
  const Captures taken = take();
}

Captures CompiledFunction::take() {
  root_code_ = nullptr;
  return std::exchange(captures_, {});
}

std::shared_ptr<Segment> CompiledFunction::segment(const State& state, const Choices& chosen) {
  auto& entry = captures_.segments[key_of(state, chosen)];
  if (!entry) entry = std::make_shared<Segment>();
  return entry;
}

std::shared_ptr<Variant> CompiledFunction::capture(Segment& segment, const State& state,
                                                   const Choices& chosen) {
  if (segment.variants.empty()) {
    expect_counters(segment.history, state);
  } else {
    ++counters().recompiles;
    if (log::enabled(log::Channel::Recompiles)) {
      const Frame& frame = state.frames.back();
      log::write(log::Channel::Recompiles,
                 fmt::format("{} ({}:{}): {} does not hold", frame.code->name(), frame.code->file(),
                             frame.code->line(frame.ip),
                             segment.variants.back()->guards.explain_failure(state.frames)));
    }
  }
  const auto start = Clock::now();
  // Breaks are decided on a real state, whose exceptions (of a handler being run) stay as they are.
  Settings settings = settings_;
  settings.default_float = chosen.default_float;
  settings.on_meta = chosen.on_meta();
  std::shared_ptr<Variant> variant = Evaluator(state, segment.history, settings).evaluate();
  variant->capture_ms = milliseconds_since(start) - variant->compile_ms;
  ++counters().captures;
  if (variant->executable) ++counters().graphs;
  counters().kernels += static_cast<int64_t>(variant->kernels.size());
  if (variant->is_broken()) {
    const std::string place = fmt::format("{}:{}", variant->break_file, variant->break_line);
    const std::string line = source_line(variant->break_file, variant->break_line);
    if (settings_.fullgraph) {
      python::set_error(PyExc_RuntimeError,
                        fmt::format("weft.compile(fullgraph=True): {}\n  at {}\n    {}\n  {}",
                                    variant->break_reason, place, line, advice_for(variant->break_reason)));
      throw PythonError{};
    }
    if (log::enabled(log::Channel::GraphBreaks))
      log::write(log::Channel::GraphBreaks,
                 fmt::format("{}: {}\n    {}\n    {}", place, variant->break_reason, line,
                             advice_for(variant->break_reason)));
  }
  for (const UnrolledLoop& loop : variant->unrolled) name_unrolled(loop);
  if (variant->enters_plain_loop) {
    captures_.calls->suspect();
    fall_back({variant->break_file, variant->break_line, variant->break_reason, true});
  }
  if (log::enabled(log::Channel::Guards))
    for (const std::string& guard : variant->guards.describe()) log::write(log::Channel::Guards, guard);
  segment.variants.push_back(variant);
  captures_.in_order.push_back(variant);
  return variant;
}

Ref CompiledFunction::run(State state) {
  Registers registers;
  constexpr int kManySegments = 16;
  constexpr double kShort_ms = 100;  // so that timing the call in Python costs little
  int num_segments = 0;
  const auto arrival = Clock::now();
  const auto report_loop = [this](std::shared_ptr<Variant> loop) {
    counters().kernels += static_cast<int64_t>(loop->kernels.size());
    captures_.in_order.push_back(std::move(loop));
  };
  while (true) {
    Ref returned;
    const std::shared_ptr<Loops> loops = captures_.loops;
    const Choices chosen = choices();
    const LoopOutcome outcome =
        chosen.are_usual() ? loops->run(state, returned, report_loop) : LoopOutcome::NotEntered;
    if (outcome == LoopOutcome::Returned) return returned;
    if (outcome == LoopOutcome::Advanced) continue;
    if (is_observed(state)) {
      if (chosen.on_meta()) refuse_on_meta(state, "the program holds its frame");
      if (step(state, returned) == StepResult::Returned) return returned;
      if (!serve_interpreter()) unwind(state);
      continue;
    }
    // Held: guards and graphs may run Python code that resets or captures again.
    const std::shared_ptr<Segment> held =
        state.frames.size() == 1 && state.frames[0].ip == 0 && captures_.root && chosen.are_usual()
            ? captures_.root
            : segment(state, chosen);
    Segment& here = *held;
    if (here.given_up) {
      if (chosen.on_meta()) refuse_on_meta(state, "it cannot be captured");
      return chosen.are_usual() ? loops->finish(state, report_loop) : run_concretely(state);
    }
    std::shared_ptr<Variant> variant;
    for (size_t i = 0; i < here.variants.size(); ++i) {
      std::shared_ptr<Variant> candidate = here.variants[i];
      if (!candidate->guards.check(state.frames, registers)) continue;
      variant = std::move(candidate);
      break;
    }
    if (!variant) {
      if (is_deep_recursion(state) && !chosen.on_meta()) {
        here.given_up = true;
        captures_.calls->suspect();
        fall_back(state.frames.back(), "a recursion whose depth is not known beforehand");
        continue;
      }
      double spent_ms = 0;  // without having computed with an array
      for (const auto& one : here.variants) {
        if (one->executable) spent_ms = -1e30;
        spent_ms += one->capture_ms;
      }
      if (here.variants.size() >= (spent_ms > kMuch_ms ? kMaxPlainVariants : kMaxVariants)) {
        here.given_up = true;
        captures_.calls->suspect();
        fall_back(state.frames.back(),
                  fmt::format("it was compiled {} times there and still meets other arguments "
                              "(WEFT_LOGS=recompiles says why)",
                              here.variants.size()));
        continue;
      }
      const auto give_up = [&](const std::string& reason) {
        if (!serve_interpreter()) return unwind(state);  // the interrupt may have been what failed
        fall_back(state.frames.back(), reason);
        here.given_up = true;
      };
      try {
        variant = capture(here, state, chosen);
      } catch (const CaptureAborted& aborted) {
        if (aborted.captures_again) continue;
        if (aborted.by_stand_in && !std::exchange(here.history.without_stand_ins, true)) continue;
        give_up(aborted.reason);
        continue;
      } catch (const GraphBreak& broken) {
        give_up(broken.reason);
        continue;
      } catch (const Error& error) {
        give_up(error.what());
        continue;
      }
      if (!variant->guards.check(state.frames, registers)) {
        // The state does not satisfy guards made from it (an object that compares unequal to itself).
        std::erase(here.variants, variant);
        if (chosen.on_meta()) refuse_on_meta(state, "it cannot be captured");
        fall_back(state.frames.back(),
                  "what it is guarded by does not hold for itself (an object that is not equal to itself)");
        return run_concretely(state);
      }
      if (!serve_interpreter()) {  // interrupted during capture
        unwind(state);
        continue;
      }
    }
    if (chosen.on_meta()) {
      if (!variant->returns) refuse_on_meta(*variant);
      return variant->run_on_meta(registers);
    }
    constexpr int64_t kTimed = 64;  // the clock costs as much as a small graph
    const bool is_timed = variant->runs < kTimed || variant->runs % kTimed == 0;
    const auto start = is_timed ? Clock::now() : Clock::time_point();
    Ref result;
    try {
      result = variant->run(registers, state);
    } catch (const WarningRaised&) {
      continue;
    } catch (const ErrorHandled&) {
      return run_concretely(state);
    } catch (const GraphFailed& failed) {
      // Performed for real, the operation raises NumPy's own exception.
      if (failed.kind == ErrorKind::NotImplemented || failed.kind == ErrorKind::Internal)
        fall_back(state.frames.back(), failed.message);
      return run_concretely(state);
    }
    if (is_timed) variant->run_ms = milliseconds_since(start);
    ++variant->runs;
    ++counters().runs;
    if (++num_segments == kManySegments && milliseconds_since(arrival) < kShort_ms)
      captures_.calls->suspect();
    if (variant->returns) return result;
    if (!serve_interpreter()) {
      unwind(state);
      continue;
    }
    if (variant->is_last) {
      captures_.calls->suspect();
      fall_back(state.frames.back(), variant->break_reason);
      return chosen.are_usual() ? loops->finish(state, report_loop) : run_concretely(state);
    }
    if (variant->enters_loop) continue;
    if (variant->is_broken()) ++counters().breaks;
    if (variant->enters_plain_loop) {
      if (!can_continue_loop(state)) return loops->finish(state, report_loop);
      if (continue_loop_in_python(state, returned) == StepResult::Returned) return returned;
      continue;
    }
    if (chosen.are_usual() && at_range(state)) {
      const LoopOutcome native = loops->run(state, returned, report_loop);
      if (native == LoopOutcome::Returned) return returned;
      if (native == LoopOutcome::Advanced) continue;
      const std::shared_ptr<LoopPace> pace = captures_.pace;
      const LoopOutcome paced = pace->arrive(state, counters().captures, *loops, returned, report_loop);
      if (pace->has_many_rounds()) captures_.calls->suspect();
      if (paced == LoopOutcome::Returned) return returned;
      if (paced == LoopOutcome::Advanced) continue;
    }
    const bool is_sized = variant->ends_planned && variant->runs == 1 && is_call(state);
    do {
      if (step(state, returned) == StepResult::Returned) return returned;
    } while (concrete_only(
        state.frames.back().code->instructions[static_cast<size_t>(state.frames.back().ip)].op));
    if (is_sized) expect_sizes(segment(state, choices())->history, state);
  }
}

void CompiledFunction::unwrap(PyObject* callable) {
  function_ = Ref::borrow(callable);
  if (PyMethod_Check(callable)) {
    first_args_.insert(first_args_.begin(), Ref::borrow(PyMethod_GET_SELF(callable)));
    return unwrap(PyMethod_GET_FUNCTION(callable));
  }
  PyTypeObject* type = Py_TYPE(callable);
  if (std::string_view(type->tp_name) == "functools.partial" && !first_keywords_) {
    Ref function = checked(PyObject_GetAttrString(callable, "func")),
        args = checked(PyObject_GetAttrString(callable, "args"));
    Ref keywords = checked(PyObject_GetAttrString(callable, "keywords"));
    for (Py_ssize_t i = PyTuple_GET_SIZE(args.get()); i-- > 0;)
      first_args_.insert(first_args_.begin(), Ref::borrow(PyTuple_GET_ITEM(args.get(), i)));
    if (PyDict_GET_SIZE(keywords.get()) > 0) first_keywords_ = keywords;
    return unwrap(function.get());
  }
  if (PyFunction_Check(callable) || PyType_Check(callable)) return;
  static constinit InternedName call_name("__call__");
  PyObject* found = _PyType_Lookup(type, call_name);
  if (found && PyFunction_Check(found)) {
    first_args_.insert(first_args_.begin(), Ref::borrow(callable));
    unwrap(found);
  }
}

Ref CompiledFunction::call(PyObject* const* args, size_t num_args, PyObject* kwnames) {
  ++counters().calls;
  std::vector<PyObject*> all;
  Ref all_names;
  if (!first_args_.empty() || first_keywords_) {
    for (const Ref& arg : first_args_) all.push_back(arg.get());
    all.insert(all.end(), args, args + num_args);
    const size_t named = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
    Ref names = checked(PyList_New(0));
    PyObject *key, *value;
    for (Py_ssize_t i = 0; first_keywords_ && PyDict_Next(first_keywords_.get(), &i, &key, &value);) {
      const int overridden = kwnames ? PySequence_Contains(kwnames, key) : 0;
      if (overridden < 0) throw PythonError{};
      if (overridden) continue;
      PyList_Append(names.get(), key);
      all.push_back(value);
    }
    for (size_t i = 0; i < named; ++i) {
      PyList_Append(names.get(), PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i)));
      all.push_back(args[num_args + i]);
    }
    num_args += first_args_.size();
    all_names = checked(PyList_AsTuple(names.get()));
    args = all.data();
    kwnames = PyTuple_GET_SIZE(all_names.get()) > 0 ? all_names.get() : nullptr;
  }
  auto* function = reinterpret_cast<PyFunctionObject*>(function_.get());
  const Code* code = PyFunction_Check(function_.get())
                         ? &decode(reinterpret_cast<PyCodeObject*>(function->func_code))
                         : nullptr;
  if (root_code_ != code || !code) {
    why_python_ = code ? code->unsupported : "it has no Python code";
    const std::string reader = why_python_.empty() ? reader_of_frames(function_.get()) : "";
    if (!reader.empty())
      why_python_ = fmt::format("{}, which it reaches, reads variables of other frames", reader);
  }
  if (!why_python_.empty()) {
    if (root_code_ != code || captures_.fallbacks.empty()) {
      const std::string& why = why_python_;
      if (settings_.fullgraph) {
        python::set_error(PyExc_RuntimeError,
                          fmt::format("weft.compile(fullgraph=True): {} cannot be captured: {}; {}",
                                      callable_name(function_.get()), why, advice_for(why)));
        throw PythonError{};
      }
      fall_back({code ? code->file() : "", code ? code->code()->co_firstlineno : 0, why});
      root_code_ = code;
    }
    ++counters().eager_calls;
    return checked(python::calling_python(
        [&] { return PyObject_Vectorcall(function_.get(), args, num_args, kwnames); }));
  }
  if (root_code_ == code && captures_.calls->is_suspected() && !settings_.fullgraph && choices().are_usual())
    return call_at_pace(captures_.calls, args, num_args, kwnames);
  State state;
  state.frames.push_back(make_frame(function_.get(), args, num_args, kwnames));
  if (root_code_ != code) {
    root_code_ = code;
    captures_.root = segment(state, Choices{});
    all_functions().insert(this);
  }
  return run(std::move(state));
}

// The pace is held: what is called may reset the function.
Ref CompiledFunction::call_at_pace(const std::shared_ptr<CallPace>& held, PyObject* const* args,
                                   size_t num_args, PyObject* kwnames) {
  const std::shared_ptr<CallPace> pace = held;
  const bool is_plain = pace->times(args, num_args).plain_is_next();
  const int64_t captures = counters().captures;
  const auto start = Clock::now();
  Ref result;
  if (is_plain) {
    ++counters().eager_calls;
    result = checked(python::calling_python(
        [&] { return PyObject_Vectorcall(function_.get(), args, num_args, kwnames); }));
  } else {
    State state;
    state.frames.push_back(make_frame(function_.get(), args, num_args, kwnames));
    result = run(std::move(state));
  }
  if (!is_plain && counters().captures != captures) return result;
  CallPace::Times& times = pace->times(args, num_args);
  if (times.add(is_plain, milliseconds_since(start) * 1e3))
    fall_back({root_code_->file(), root_code_->code()->co_firstlineno,
               fmt::format("much of it runs step by step, and a call takes Python {:.1f} us, not {:.1f}",
                           times.plain_us, times.compiled_us)});
  return result;
}

}  // namespace weft::capture
