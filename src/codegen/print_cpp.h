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
  std::vector<const void*> functions;  // what the kernel's `functions` argument holds
};

// The signature of every kernel. `symbols` holds the graph's symbols by number.
using KernelFn = void (*)(void* const* arrays, const int64_t* symbols, const void* const* functions,
                          void* parallel_for);

PrintedKernel print_cpp(const LoopNest& nest);

}  // namespace weft::codegen
