// CPython's frames of the program's, around what capture performs of it: what `sys._getframe`, `locals`,
// `super` and warnings find, and what tracebacks are made of.
#pragma once

#include <cxxabi.h>

#include "capture/perform/state.h"
#include "runtime/interop.h"

namespace weft::capture {

// The innermost frame that is none of weft's own sources.
const Frame& program_frame(const State& state);

// As long as one lives, the state's frames lie behind the calling one where CPython looks for frames, each at
// its instruction (`at` in the innermost) and with its variables, which the state's own do not hold
// meanwhile. Variables that the program sets in a frame object are the state's afterwards. Throws
// PythonError.
class ProgramFrames {
 public:
  ProgramFrames(State& state, int at);
  ~ProgramFrames();
  ProgramFrames(const ProgramFrames&) = delete;
  ProgramFrames& operator=(const ProgramFrames&) = delete;

 private:
  State& state_;
  void* caller_;
};

// Performs the action behind them. The program may end meanwhile.
template <class Action>
void in_program_frames(State& state, int at, Action&& action) {
  const ProgramFrames frames(state, at);
  try {
    action();
  } catch (abi::__forced_unwind&) {
    runtime::sleep_until_exit();
  }
}

// Does the program hold a frame of the state, by itself or through a traceback? What it then sees of the
// frame is right as long as the frame is performed instruction by instruction.
bool is_observed(const State& state);
// The exception that is set gets a traceback entry for the frame at the instruction.
void add_traceback(State& state, size_t frame, int instruction);
// The frame has ended at the instruction: who holds it keeps its variables.
void end_frame(State& state, size_t frame, int instruction);

}  // namespace weft::capture
