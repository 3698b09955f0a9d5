// How this weft was built, as text for people and bug reports.
#pragma once

#include <string>

namespace weft {

// Compiler, threading library, BLAS, CPU capability and build settings, a line each.
std::string build_info();

}  // namespace weft
