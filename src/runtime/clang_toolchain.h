#pragma once

#include "runtime/toolchain.h"

namespace weft::runtime {

// Clang in this process, from a plugin library that is loaded by the first compilation.
const Toolchain& clang_toolchain();

}  // namespace weft::runtime
