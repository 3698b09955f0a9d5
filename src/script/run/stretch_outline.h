// Which parts of a graph can be compiled.
#pragma once

#include <cstddef>
#include <string>

#include "ir/graph.h"

namespace weft::jit {

// Puts a try before each maximal run of operators on tensors, with the numbers, lists and branches they
// depend on, that is worth it: compiled code if there is some for the values at hand, the operators
// otherwise. `mode`: that they are compiled in (weft::CompileOptions). Returns how many there are.
size_t outline_stretches(ir::Graph& graph, bool compile_at_once, const std::string& mode);

}  // namespace weft::jit
