// A Python frame with the name and the line of an instruction of the program, around what capture performs of
// it: what warnings name, and what `sys._getframe` finds.
#pragma once

#include <type_traits>

#include "capture/state.h"

namespace weft::capture {

// The innermost frame that is none of weft's own sources.
const Frame& program_frame(const State& state);

// Calls action(context) in such a frame, at the instruction `at` of the innermost one. The action throws
// PythonError.
void in_program_frame(const State& state, int at, void (*action)(void*), void* context);

template <class Action>
void in_program_frame(const State& state, int at, Action&& action) {
  in_program_frame(
      state, at, [](void* context) { (*static_cast<std::remove_reference_t<Action>*>(context))(); }, &action);
}

}  // namespace weft::capture
