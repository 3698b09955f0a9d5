// How a reduction combines two values, as C++, and what it begins with.
#pragma once

#include <string>

#include "nest/loop_nest.h"

namespace weft::codegen {

using namespace nest;

std::string initial_value(const Accumulator& accumulator);
// Numbers or vectors of them.
std::string combined(ops::ReduceOp op, DType dtype, const std::string& a, const std::string& b);

}  // namespace weft::codegen
