#pragma once

#include <functional>
#include <span>
#include <vector>

#include "exported/guards.h"
#include "exported/symbols.h"
#include "weft/exported.h"

namespace weft::exported {

// The sizes that a program takes.
struct Sizes {
  std::vector<Input> inputs;  // those that are no constants
  std::vector<std::vector<SizeExpr>> sizes;  // of each, where it is a tensor
  std::vector<SizeRange> ranges;
  std::vector<Guard> guards;

  // raises: ValueError, TypeError for values of the inputs that the program does not take.
  void check(std::span<const IValue> values) const;
};

struct Program::Impl {
  jit::Module module;
  std::vector<Input> inputs;
  Tree arguments, results;
  std::vector<SizeRange> ranges;
  std::function<std::string()> text;
  Tensors weights, constants;
};

}  // namespace weft::exported
