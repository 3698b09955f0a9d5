// The rules that every function keeps. A broken one is a bug of what built or changed it.
#pragma once

#include "loopir/function.h"

namespace weft::loopir {

// Throws an internal error, with block and instruction, unless
// - names that are read are arrays, results before them in the block, or variables that every way to the
//   instruction has set; results are named once in a block;
// - values have types that C++ converts to what they are for without losing anything silently: no float
//   becomes an integer, no number an address;
// - jumps lead to blocks that there are, and set variables of their types; a block ends with one;
// - exits set all the words that Python needs to go on;
// - the function's text reads back to the same.
void verify(const Function& function);

}  // namespace weft::loopir
