// NVIDIA's libraries that weft uses where they are there: loaded by name when they are first asked for. No
// header of CUDA's is needed to build weft.
#pragma once

#include <initializer_list>
#include <string>

namespace weft::cuda {

struct OpenedLibrary {
  void* handle = nullptr;
  std::string problem;  // why there is none
};

// The first of these names that is there: by name, so that one that the process has loaded already is found
// too. `what`: "cuBLASLt". For an emulated device it must have a symbol weft_emulated_device, as tests'
// libraries do: it is given that device's addresses.
OpenedLibrary open_library(const char* what, std::initializer_list<const char*> names);

// A function of it; null, and the reason in `problem`, where it has none.
void* find_function(OpenedLibrary& library, const char* what, const char* name);

}  // namespace weft::cuda
