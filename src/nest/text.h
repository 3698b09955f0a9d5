// Loop nests as text, for logs and tests, and the rules that every nest keeps.
#pragma once

#include <string>

#include "nest/loop_nest.h"

namespace weft::nest {

// "2*s1*i + j": constants first in the order of the atoms; quotients "(i / 4)", remainders "(i % 4)",
// positions on rings "ring(i + 1, s0)".
std::string str(const IndexSpace& space, const Index& index);
// The tree of scopes: loops with their extents and lanes, in each the values (%3), accumulators (acc 0) and
// stores. Statements are in their order once order_statements() has run, by number before.
std::string str(const LoopNest& nest);
// Throws an internal error unless operands are computed in enclosing loops, addresses use variables of
// enclosing loops, and, once statements are ordered, each value is computed before it is used.
void verify(const LoopNest& nest);

}  // namespace weft::nest
