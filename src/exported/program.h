#pragma once

#include <vector>

#include "exported/symbols.h"
#include "weft/exported.h"

namespace weft::exported {

struct Program::Impl {
  jit::Module module;
  std::vector<Input> inputs;
  std::vector<std::vector<SizeExpr>> sizes;  // of each input, where it is a tensor
  Tree arguments, results;
  std::vector<SizeRange> ranges;

  // Holds the leaves to the sizes and ranges that the program was exported with.
  void check(const std::vector<IValue>& leaves) const;
};

}  // namespace weft::exported
