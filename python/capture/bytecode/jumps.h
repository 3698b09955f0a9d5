// Where instructions jump to, and the loops that this makes.
#pragma once

#include <set>

#include "capture/bytecode/bytecode.h"

namespace weft::capture {

// The instructions that jumps lead to.
const std::set<int>& jump_targets(const Code& code);
// The instruction behind the loop's last jump back to `head`; -1 when it is no loop head.
int loop_end(const Code& code, int head);
// The head of the outermost loop around the instruction; -1 where there is none.
int outermost_loop(const Code& code, int at);

}  // namespace weft::capture
