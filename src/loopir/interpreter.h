// Runs a function instruction by instruction: the definition of the form. What is only a way to run it
// (rounds that threads share, that stand behind one another or go side by side, pieces between which signals
// are looked for) makes no difference here.
#pragma once

#include <cstddef>
#include <functional>
#include <map>

#include "loopir/evaluate.h"
#include "loopir/function.h"

namespace weft::loopir {

// Of one of the function's arrays: its elements, sizes, and strides in elements.
struct ArrayMemory {
  std::vector<std::byte> bytes;
  std::vector<int64_t> sizes, strides;
};

struct Outcome {
  int exit = -1;  // -1: the end of a function that runs rounds
  std::vector<int64_t> words;
  bool operator==(const Outcome&) const = default;
};

struct Given {
  std::vector<int64_t> words;       // of the parameters
  std::vector<ArrayMemory> arrays;  // as the function's; their elements change
  std::map<std::string, std::function<Value(const std::vector<Value>&)>> functions;
  int64_t max_instructions = 1 << 20;
};

// Throws NotKnown where the function has C++ of another kind, a list or a function that is not given, or
// takes too long; Undefined where C++ has no answer.
Outcome interpret(const Function& function, Given& given);

}  // namespace weft::loopir
