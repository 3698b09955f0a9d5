#pragma once

#include "runtime/toolchain.h"

namespace weft::runtime {

// Runs $WEFT_CXX for each kernel.
const Toolchain& cxx_toolchain();

}  // namespace weft::runtime
