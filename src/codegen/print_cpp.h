// Prints a loop nest as C++.
#pragma once

#include <string>
#include <vector>

#include "nest/loop_nest.h"

namespace weft::codegen {

using namespace nest;  // what is printed

struct PrintedKernel {
  std::string name;
  std::string source;                  // the prelude included
  std::string body;                    // without it
  std::vector<const void*> functions;  // what the kernel's `functions` parameter holds
};

// In the vocabulary of the nest's device.
PrintedKernel print_cpp(const LoopNest& nest);

}  // namespace weft::codegen
