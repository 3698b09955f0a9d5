// How a reduction combines two values, as C++, and what it begins with.
#pragma once

#include <string>

#include "nest/loop_nest.h"

namespace weft::codegen {

using namespace nest;

std::string initial_value(const Accumulator& accumulator);
// As a vector of this many lanes; 0: of as many as the loop's body has.
std::string initial_lanes(const Accumulator& accumulator, int lanes);
// Of an accumulator, or of an element of an array of them: what has the position.
std::string name_of_position(const std::string& target);
// Numbers or vectors of them.
std::string combined(ops::ReduceOp op, DType dtype, const std::string& a, const std::string& b);
// What the lanes of the vector of this name come to.
std::string combined_lanes(const Accumulator& accumulator, const std::string& name);
// argmin and argmax along one loop keep, in each lane, the number of the pass over all lanes rather than a
// position: an integer as wide as what is compared, the same for all lanes.
bool counts_passes(const Scope& scope);
const char* pass_type(const Accumulator& accumulator);
// Sums that are rounded are added up in pieces of this many vectors, and these to each other: what rounding
// adds up to stays small, as in NumPy's sums. 0: the loop along which the scope has lanes is short.
int64_t vectors_of_piece(const LoopNest& nest, const Scope& scope);
bool is_rounded_sum(const Accumulator& accumulator);

}  // namespace weft::codegen
