// Where the values of a program lie when all sizes are known: those that it makes and nobody else gets to
// see, in one arena, each for as long as it is read.
#pragma once

#include <vector>

#include "compiler/program.h"

namespace weft::compiler {

inline size_t at(int slot) { return static_cast<size_t>(slot); }

// A value that lies at the same place in every run.
struct FixedValue {
  Tensor constant;  // a constant, or a view of one; all else is in the arena
  int block = -1;
  DType dtype = DType::F32;
  Shape shape;
  Strides strides;
  int64_t first_byte = 0;  // of the block

  bool is_fixed() const { return block >= 0 || constant.defined(); }
};

// What is left to do of a step.
enum class StepWork : uint8_t {
  None,       // a view that is there already
  Kernel,     // launched on addresses that are known but for the inputs' and the results'
  CallInto,   // an operator that writes where it is told to
  Copy,       // of fixed elements into another order
  View,       // of what lies elsewhere in each run
  Call,       // an operator that allocates its results
  AsPlanned,  // all that the plan does
};

struct FixedCopy {
  FixedValue to, from;
};

struct CallLayout {
  std::vector<FixedValue> slots;  // by slot
  std::vector<StepWork> work;     // by step
  std::vector<FixedCopy> copies;  // by step
  std::vector<int64_t> block_at;  // by block: its first byte
  int64_t arena_bytes = 0;
};

// Runs the program's view operators, on memory of the sizes that there will be.
CallLayout lay_out(const Program& program, const std::vector<int64_t>& symbols);

}  // namespace weft::compiler
