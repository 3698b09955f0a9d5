// How a reduction combines two values, as C++, and what it begins with.
#pragma once

#include <string>

#include "nest/loop_nest.h"

namespace weft::codegen {

using namespace nest;

std::string initial_value(const Accumulator& accumulator);
// Numbers or vectors of them.
std::string combined(ops::ReduceOp op, DType dtype, const std::string& a, const std::string& b);
// Sums that are rounded are added up in pieces of this many vectors, and these to each other: what rounding
// adds up to stays small, as in NumPy's sums. 0: the loop along which the scope has lanes is short.
int64_t vectors_of_piece(const LoopNest& nest, const Scope& scope);
bool is_rounded_sum(const Accumulator& accumulator);

}  // namespace weft::codegen
