// Loops of one block that may be left in a round (an index from elsewhere, an overflow) are no vector loops,
// and compilers leave them as they are. Several of their rounds stand behind one another, with one test for
// all whether there are as many.
#pragma once

#include "loopir/function.h"

namespace weft::loopir {

// Nothing is changed where that is of no use.
void unroll(Version& version);

}  // namespace weft::loopir
