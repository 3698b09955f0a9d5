// Prints a loop nest as kernels for a grid of blocks of threads: CUDA C++ in the vocabulary of
// codegen/grid_words.inc, which GPUs and the emulated device both have.
#pragma once

#include "codegen/print_cpp.h"
#include "nest/grid.h"

namespace weft::codegen {

// One function per phase of plan_grid(nest), all with the same parameters, in this order: the nest's buffers,
// the sizes of grid_symbols(), and for each accumulator of a split reduction its parts and, of argmin and
// argmax, their positions.
PrintedKernel print_grid(const LoopNest& nest);

// Numbers of the symbols that are parameters: those that the nest's extents and addresses have.
std::vector<int> grid_symbols(const LoopNest& nest);

}  // namespace weft::codegen
