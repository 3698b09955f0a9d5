// Calls that native code runs as a whole (whole.cc), from their arguments.
#include <fmt/format.h>

#include <utility>

#include "capture/loops/entry_pattern.h"
#include "capture/loops/loops.h"
#include "capture/loops/memory.h"
#include "capture/loops/rebuild.h"
#include "capture/objects/error_actions.h"
#include "core/profiling.h"

namespace weft::capture {

LoopOutcome Loops::run_whole(State& state, Ref& result, const Report& report) {
  const Code* code = state.frames.back().code;
  if (code != known_code_) {
    known_code_ = code;
    has_loop_ = false;
    for (int at = 0; at < static_cast<int>(code->instructions.size()); ++at)
      has_loop_ |= loop_end(*code, at) >= 0;
    whole_ = has_loop_ ? &rejections_[{code, 0}] : nullptr;
  }
  return has_loop_ ? enter(state, result, report) : LoopOutcome::NotEntered;
}

LoopOutcome Loops::call(const Code& code, PyObject* function, PyObject* const* args, size_t num_args,
                        State& state, Ref& result) {
  if (&code != known_code_ || !whole_ || whole_->known.empty() || current_error_actions().handled)
    return LoopOutcome::NotEntered;
  // Another call may come while this one runs: from a signal's handler.
  std::unique_ptr<LoopEntry> entry = spare_ ? std::move(spare_) : std::make_unique<LoopEntry>();
  for (const Known& known : whole_->known) {
    entry->clear_words();
    if (!known.pattern->read_call(function, args, num_args, *entry)) continue;
    const Found found = known.found;  // looking names up may run code of the program
    NativeLoop& loop = *found.loop;
    if (!found.loop->names_hold() || !loop.function || !is_of_use(loop.code, *entry) ||
        !loop.finds_generators(*entry))
      break;
    const LoopOutcome outcome = call(found, *entry, function, args, num_args, state, result);
    entry->clear_words();
    spare_ = std::move(entry);
    return outcome;
  }
  entry->clear_words();
  spare_ = std::move(entry);
  return LoopOutcome::NotEntered;
}

LoopOutcome Loops::call(const Found& found, LoopEntry& entry, PyObject* function, PyObject* const* args,
                        size_t num_args, State& state, Ref& result) {
  using std::chrono::microseconds;
  NativeLoop& loop = *found.loop;
  const bool is_timed = loop.is_timed;
  const auto start = is_timed ? Clock::now() : Clock::time_point::max();
  LoopMemory memory;
  const int64_t number = run_code(loop, entry, memory);
  const LoopExit& exit = loop.code.exits[static_cast<size_t>(number)];
  was_useful_ = true;
  if (exit.kind == LoopExit::Kind::Return) {
    loop.short_runs = 0;
    result = returned_object(entry, loop.code, exit, entry.words, memory);
    return LoopOutcome::Returned;
  }
  {
    const ExceptionSetAside raised;  // by the handler of a signal
    state.frames.push_back(make_frame(function, args, num_args, nullptr));
    rebuild(state, entry, loop.code, exit, entry.words, memory);
  }
  const bool is_long = is_timed && Clock::now() - start >= microseconds(20);
  return go_on(found, exit, state, 1, result, *whole_, is_long, false);
}

}  // namespace weft::capture
