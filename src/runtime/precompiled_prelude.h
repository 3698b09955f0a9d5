// What the generated code has in common, parsed once: a precompiled header of the Clang plugin's. It comes
// with the library for the usual processors, from the cache's folder, or is made by the first compilation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/clang_plugin/plugin.h"

namespace weft::runtime {

struct PreludeCompiler {
  WeftClangPrecompile precompile = nullptr;
  WeftClangRelease release = nullptr;
  std::string version;
  std::string folder;  // of the files that come with the library
};

// The precompiled `prelude` for these flags, or null where it cannot be made. Callers come one at a time;
// what they get lives as long as the process.
const std::string* precompiled_prelude(const PreludeCompiler& compiler, std::string_view prelude,
                                       const std::vector<std::string>& flags);
// After a compilation that failed with it and not without: it is not given again.
void drop_precompiled_prelude(const std::string* precompiled);

// Those of the flags that the prelude depends on.
std::vector<std::string> prelude_flags(const std::vector<std::string>& flags);
// The file that comes with the library: `seal` and text for the processors of `prelude_flags(flags)`.
std::string shipped_prelude_name(const std::vector<std::string>& flags);
std::string make_shipped_prelude(const PreludeCompiler& compiler, std::string_view prelude,
                                 const std::vector<std::string>& flags);

}  // namespace weft::runtime
