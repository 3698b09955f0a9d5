// Python's objects and frames from the words that native code leaves.
#pragma once

#include "capture/loops/loops.h"
#include "capture/loops/memory.h"

namespace weft::capture {

// Frames in the place of the state's innermost one.
void rebuild(State& state, const LoopEntry& entry, const LoopCode& loop, const LoopExit& exit,
             const std::vector<int64_t>& words, const LoopMemory& memory);
// What a whole call returns.
Ref returned_object(const LoopEntry& entry, const LoopCode& loop, const LoopExit& exit,
                    const std::vector<int64_t>& words, const LoopMemory& memory);

}  // namespace weft::capture
