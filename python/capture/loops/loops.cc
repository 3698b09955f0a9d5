#include "capture/loops/loops.h"

#include <fmt/format.h>

#include <bit>
#include <chrono>

#include "capture/loops/entry_pattern.h"
#include "capture/loops/memory.h"
#include "capture/loops/rebuild.h"
#include "capture/objects/error_actions.h"
#include "capture/objects/numpy_api.h"
#include "capture/perform/continuation.h"
#include "capture/values/advice.h"
#include "codegen/prelude.h"
#include "core/profiling.h"
#include "runtime/log.h"
#include "runtime/toolchain.h"

namespace weft::capture {

namespace {

constexpr int kMaxShortRuns = 64;
constexpr int kMaxRejections = 3;  // of one loop, with different types
constexpr int kMaxInVain = 256;
constexpr size_t kMaxSteps = 3;  // of the range of one loop; with more, one code for all
constexpr int kMaxCostlyRuns = 16;
constexpr size_t kMaxReadInVain = 1 << 13;  // items of lists
constexpr int64_t kMostElements = 1 << 12;  // of arrays of a whole call that has statements on them

// Of all arrays of the entry.
int64_t num_elements(const LoopCode& code, const LoopEntry& entry) {
  int64_t total = 0;
  const int64_t* words = entry.array_words.data();
  for (size_t i = 0; i < entry.array_objects.size(); ++i) {
    const int dim = code.array_dims[i];
    int64_t count = 1;
    for (int d = 0; d < dim; ++d) count *= words[1 + d];
    total += count;
    words += 1 + 2 * dim;
  }
  return total;
}

// Python's signal handlers run. Where Python has other threads the loop is left: they may read what it has
// changed, and change what it has read (a global flag).
int64_t look_for_signals() {
  if (PyErr_CheckSignals() < 0) return 1;
  return PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get())) != nullptr;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::shared_ptr<NativeLoop> build_native(const LoopEntry& entry) {
  const auto start = std::chrono::steady_clock::now();
  auto loop = std::make_shared<NativeLoop>();
  loop->code = build_loop(entry.frames, entry.arrays, entry.of_objects);
  std::vector<LoopFrame> frames = entry.frames;
  for (LoopFrame& frame : frames)
    for (std::vector<LoopValue>* values : {&frame.locals, &frame.stack})
      for (const LoopValue& value : *values)
        if (value.kind == LoopKind::Const || value.kind == LoopKind::Function)
          loop->code.kept.push_back(Ref::borrow(value.object));
  loop->build_ms = milliseconds_since(start);
  return loop;
}

void compile(NativeLoop& loop, const Loops::Report& report) {
  const profiling::Span span("compile loop", profiling::Kind::Compile);
  const LoopCode& code = loop.code;
  auto variant = std::make_shared<Variant>();
  variant->returns = true;
  variant->capture_ms = loop.build_ms;
  if (log::enabled(log::Channel::OutputCode)) log::write(log::Channel::OutputCode, "\n" + code.body);
  log::dump(code.name + ".cc", code.source);
  const auto start = std::chrono::steady_clock::now();
  const runtime::LoadedKernel loaded = runtime::load_kernel(codegen::compile_request(code.name, code.source));
  loop.function = reinterpret_cast<decltype(loop.function)>(loaded.module->symbol(code.name));
  loop.module = loaded.module;
  variant->kernels.push_back(
      {code.name, code.body, loaded.compile_ms, std::string_view(loaded.origin) != "compiled"});
  variant->compile_ms = milliseconds_since(start);
  for (const std::string& note : code.notes)
    log::write(log::Channel::GraphBreaks, fmt::format("in a native loop, Python performs {}", note));
  report(std::move(variant));
}

// Goes on in Python until the loop begins another round or is left.
LoopOutcome perform(State& state, size_t depth, const Code* code, const LoopCode& loop, Ref& result) {
  while (true) {
    if (step(state, result) == StepResult::Returned) return LoopOutcome::Returned;
    if (state.frames.size() < depth) return LoopOutcome::Advanced;
    if (state.frames.size() > depth) continue;
    const Frame& frame = state.frames.back();
    if (frame.code != code || frame.ip < loop.head || frame.ip >= loop.end) return LoopOutcome::Advanced;
    if (loop_end(*code, frame.ip) >= 0) return LoopOutcome::Advanced;
  }
}

}  // namespace

bool is_of_use(const LoopCode& code, const LoopEntry& entry) {
  return !code.is_whole || !code.has_statements || num_elements(code, entry) <= kMostElements;
}

int64_t Loops::run_code(const NativeLoop& loop, LoopEntry& entry, LoopMemory& memory) {
  const LoopCode& code = loop.code;
  entry.words.resize(code.num_words + 1);
  if (entry.array_words.size() < code.num_array_words) entry.array_words.resize(code.num_array_words);
  if (entry.array_objects.size() < code.array_dims.size()) entry.array_objects.resize(code.array_dims.size());
  memory.holds_arrays(entry.array_objects);
  const auto named = [&] {
    const Code& outermost = *code.exits[0].frames[0].code;
    return fmt::format("loop {}:{}", outermost.name(), outermost.line(code.head));
  };
  const profiling::Span span(named, profiling::Kind::Kernel);
  return loop.function(entry.words.data(), entry.array_words.data(), code.functions.data(), look_for_signals);
}

LoopOutcome Loops::run(State& state, Ref& result, const Report& report) {
  const Frame& frame = state.frames.back();
  return loop_end(*frame.code, frame.ip) < 0 ? LoopOutcome::NotEntered : enter(state, result, report);
}

LoopOutcome Loops::enter(State& state, Ref& result, const Report& report) {
  const Code* code = state.frames.back().code;
  const int head = state.frames.back().ip;
  const bool is_whole = loop_end(*code, head) < 0;
  Rejections& rejections = rejections_[{code, head}];
  if (rejections.count >= kMaxRejections || current_error_actions().handled) return LoopOutcome::NotEntered;
  for (const Known& known : rejections.known) {
    LoopEntry entry;
    if (!known.pattern->read(state.frames.back(), entry)) continue;
    const Found found = known.found;  // looking names up may run code of the program
    if (!found.loop->names_hold()) break;
    return run(found, entry, state, result, rejections, {}, report);
  }
  const auto arrival = Clock::now();
  const bool any_step = rejections.steps.size() > kMaxSteps;
  LoopEntry entry(state.frames.back(), mixed_[{code, head}], any_step);
  if (!any_step && entry.step != 1) rejections.steps.insert(entry.step);
  const auto reading = Clock::now() - arrival;
  Candidates& candidates = by_key_[entry.key];
  if (candidates.rejected || entry.mixes_types()) {
    if (is_whole && candidates.rejected) rejections.count = kMaxRejections;
    if (++rejections.in_vain > kMaxInVain) rejections.count = kMaxRejections;
    return LoopOutcome::NotEntered;
  }
  std::shared_ptr<NativeLoop> loop;
  for (const auto& candidate : candidates.loops)
    if (candidate->names_hold()) loop = candidate;
  if (!loop) {
    std::string why;
    try {
      if (is_whole && !EntryPattern::of(state.frames.back(), entry, 0))
        throw LoopRejected{"its arguments have to be described anew in each call"};
      loop = add_loop(candidates, entry, report);
    } catch (const LoopListMixed& list) {
      if (!is_whole && note_mixed(state.frames.back(), entry, list)) return enter(state, result, report);
      why = "a list gets items of another type";
    } catch (const LoopRejected& rejected) {
      why = fmt::format("{}:{}: {}", code->file(), rejected.line, rejected.reason);
    } catch (const Error& error) {
      log::warning(fmt::format("weft.compile: a native loop cannot be compiled: {}", error.what()));
      why = "it cannot be compiled";
    }
    if (!loop) {
      candidates.rejected = true;
      rejections.count = entry.num_list_items() > kMaxReadInVain ? kMaxRejections : rejections.count + 1;
      if (is_whole) return LoopOutcome::NotEntered;
      rejections.why = why;
      log::write(log::Channel::GraphBreaks,
                 fmt::format("the loop at {}:{} is not native: {}\n    {}", code->file(),
                             code->line(entry.frames[0].ip), why, advice_for(why)));
      return LoopOutcome::NotEntered;
    }
  }
  const Found found{loop, &candidates};
  if (auto pattern = EntryPattern::of(state.frames.back(), entry, loop->code.num_words + 1)) {
    if (rejections.known.size() == kMaxKnown) rejections.known.pop_back();
    rejections.known.insert(rejections.known.begin(), {std::move(pattern), found});
  }
  return run(found, entry, state, result, rejections, reading, report);
}

LoopOutcome Loops::run(const Found& found, LoopEntry& entry, State& state, Ref& result,
                       Rejections& rejections, Clock::duration reading, const Report& report) {
  NativeLoop& loop = *found.loop;
  if (!is_of_use(loop.code, entry)) return LoopOutcome::NotEntered;
  if (!loop.function) {
    try {
      compile(loop, report);
    } catch (const Error& error) {
      log::warning(fmt::format("weft.compile: a native loop cannot be compiled: {}", error.what()));
      found.candidates->rejected = true;
      rejections.known.clear();
      return LoopOutcome::NotEntered;
    }
  }
  if (!loop.finds_generators(entry)) return LoopOutcome::NotEntered;
  LoopMemory memory;
  entry.prepare_lists(loop.code.objects);
  // The clock costs as much as a small loop.
  const bool has_objects = !entry.objects.empty() || entry.num_list_items() > 0;
  const bool is_timed = has_objects || loop.is_timed;
  const auto start = is_timed ? Clock::now() : Clock::time_point::max();
  const int64_t number = run_code(loop, entry, memory);
  rejections.in_vain = 0;
  const LoopExit& exit = loop.code.exits[static_cast<size_t>(number)];
  if (exit.kind == LoopExit::Kind::Return) {
    result = returned_object(entry, loop.code, exit, entry.words, memory);
    loop.short_runs = 0;
    was_useful_ = true;
    return LoopOutcome::Returned;
  }
  const size_t depth = state.frames.size();
  if (!has_objects) {
    rebuild(state, entry, loop.code, exit, entry.words, memory);
    loop.costly_runs = 0;
  } else {
    const auto end = Clock::now();
    rebuild(state, entry, loop.code, exit, entry.words, memory);
    note_conversion(loop, entry, reading + (Clock::now() - end), end - start, rejections);
  }
  const bool is_long = is_timed && Clock::now() - start >= std::chrono::microseconds(20);
  return go_on(found, exit, state, depth, result, rejections, is_long,
               entry.num_list_items() > kMaxReadInVain);
}

LoopOutcome Loops::go_on(const Found& found, const LoopExit& exit, State& state, size_t depth, Ref& result,
                         Rejections& rejections, bool is_long, bool has_long_lists) {
  NativeLoop& loop = *found.loop;
  const Code* code = exit.frames[0].code;
  if (exit.kind == LoopExit::Kind::Leave) {
    was_useful_ = true;
    return LoopOutcome::Advanced;
  }
  if (exit.kind == LoopExit::Kind::Interrupted) {
    if (PyErr_Occurred() || !serve_interpreter()) {
      unwind(state);
      return LoopOutcome::Advanced;
    }
    if (loop_end(*state.frames.back().code, state.frames.back().ip) >= 0)
      return perform(state, depth, code, loop.code, result);
    // The jump to the loop's head.
    return step(state, result) == StepResult::Returned ? LoopOutcome::Returned : LoopOutcome::Advanced;
  }
  loop.is_timed = true;
  was_useful_ = is_long;
  loop.short_runs = is_long ? 0 : loop.short_runs + 1;
  if (loop.short_runs > kMaxShortRuns) {
    found.candidates->rejected = true;
    rejections.known.clear();
    if (has_long_lists) rejections.count = kMaxRejections;
    rejections.why = "Python has to perform something in every round";
    log::write(log::Channel::GraphBreaks,
               fmt::format("the loop at {}:{} is not native any more: {}", code->file(),
                           code->line(loop.code.head), rejections.why));
  }
  return perform(state, depth, code, loop.code, result);
}

std::shared_ptr<NativeLoop> Loops::add_loop(Candidates& candidates, const LoopEntry& entry,
                                            const Report& report) {
  if (candidates.loops.size() >= 8) throw LoopRejected{"its globals keep changing"};
  std::shared_ptr<NativeLoop> loop = build_native(entry);
  if (is_of_use(loop->code, entry)) compile(*loop, report);
  candidates.loops.push_back(loop);
  return loop;
}

// From now on the list counts as one of several types. False where it did so before.
bool Loops::note_mixed(const Frame& frame, const LoopEntry& entry, const LoopListMixed& list) {
  std::set<int>& mixed = mixed_[{frame.code, frame.ip}];
  const size_t before = mixed.size();
  for (int slot : list_slots(*frame.code, frame.ip).loaded) {
    PyObject* held = frame.locals[static_cast<size_t>(slot)].get();
    if (held && PyCell_Check(held)) held = PyCell_GET(held);
    if (held == entry.array_objects[static_cast<size_t>(list.array)].get()) mixed.insert(slot);
  }
  return mixed.size() > before;
}

// Lists that are long beside what the loop does with them are Python's, which takes some thirty times as long
// as the loop.
void Loops::note_conversion(NativeLoop& loop, const LoopEntry& entry, Clock::duration converting,
                            Clock::duration running, Rejections& rejections) {
  const bool is_costly =
      entry.num_list_items() > 0 && converting > std::chrono::microseconds(50) && converting > 32 * running;
  loop.costly_runs = is_costly ? loop.costly_runs + 1 : 0;
  if (loop.costly_runs <= kMaxCostlyRuns) return;
  rejections.count = kMaxRejections;
  rejections.why = "its lists are long and it does little with them";
}

Ref Loops::finish(State& state, const Report& report) {
  Ref result;
  bool was_native = false;
  for (int64_t steps = 1;; ++steps) {
    if (steps > 10 * kStepsInTurn && can_continue_in_python(state)) {
      if (continue_in_python(state, result) == StepResult::Returned) return result;
      steps = 0;
      continue;
    }
    const size_t depth = state.frames.size();
    const int before = state.frames.back().ip;
    if (step(state, result) == StepResult::Returned) return result;
    if (!serve_interpreter()) {
      unwind(state);
      continue;
    }
    const Frame& frame = state.frames.back();
    if (steps >= kStepsInTurn && state.frames.size() == depth && frame.ip < before &&
        can_continue_loop(state)) {
      if (continue_loop_in_python(state, result) == StepResult::Returned) return result;
      steps = 0;
      continue;
    }
    if (loop_end(*frame.code, frame.ip) < 0) continue;
    // A loop that Python performs is not looked at again in each of its rounds, and never where it was not
    // native before.
    const bool goes_round = state.frames.size() == depth && frame.ip < before;
    if ((goes_round && !was_native) || !rejection(frame.code, frame.ip).empty()) continue;
    const LoopOutcome outcome = run(state, result, report);
    if (outcome == LoopOutcome::Returned) return result;
    was_native = outcome == LoopOutcome::Advanced;
    if (was_native && was_useful_) steps = 0;
  }
}

std::string Loops::rejection(const Code* code, int head) const {
  const auto found = rejections_.find({code, head});
  return found == rejections_.end() ? "" : found->second.why;
}

bool can_be_native(std::vector<LoopFrame> frames, const LoopEntry& entry, std::string* why) {
  try {
    build_loop(std::move(frames), entry.arrays, entry.of_objects);
    return true;
  } catch (const LoopRejected& rejected) {
    *why = rejected.reason;
    return false;
  }
}

}  // namespace weft::capture
