#pragma once

#include "runtime/toolchain.h"

namespace weft::runtime {

// Clang in this process, from a plugin library that is loaded by the first compilation.
const Toolchain& clang_toolchain();
// What its compile() does, with flags of one's own. A flag that the plugin does not know is an internal
// error.
std::string compile_with_clang(const CompileRequest& request, const std::vector<std::string>& flags);
// The contents of the file with the precompiled `prelude` that comes with the library.
std::string shipped_prelude(std::string_view prelude, const std::vector<std::string>& flags);

}  // namespace weft::runtime
