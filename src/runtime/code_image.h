// Shared objects that need nothing of the system's loader: code, constants, and addresses to fill in.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/toolchain.h"

namespace weft::runtime {

// The shared object in memory that it shares with others (code_memory.h). Null where it has variables,
// constructors, or anything else that only the system's loader knows, and where a symbol is not found: that
// one loads it, or says what is wrong.
std::shared_ptr<const Module> load_image(std::string_view bytes, const std::string& kernel);

}  // namespace weft::runtime
