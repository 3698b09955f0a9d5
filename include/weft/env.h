// Every environment variable weft reads, declared once. An unknown WEFT_* variable warns at start.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft::env {

struct Variable {
  const char* name;
  const char* default_value;
  const char* doc;
};

inline constexpr Variable kVariables[] = {
    {"WEFT_LOGS", "", "Comma-separated log channels: output_code, graph_breaks, recompiles, guards, fusion, schedule, cache, passes."},
    {"WEFT_DUMP", "", "Folder to write numbered files to, one per compiler stage and kernel."},
    {"WEFT_CACHE_DIR", "", "Folder of compiled kernels; default $XDG_CACHE_HOME/weft or ~/.cache/weft."},
    {"WEFT_DISABLE_CACHE", "0", "1: neither read nor write compiled kernels on disk."},
    {"WEFT_TOOLCHAIN", "auto", "clang (in-process), c++ (spawned), or auto: the first that works."},
    {"WEFT_CXX", "c++", "The compiler the spawned toolchain runs."},
    {"WEFT_VECTOR_BYTES", "0", "Vector width of generated code in bytes: 16, 32 or 64; 0: the machine's."},
    {"WEFT_VERIFY", "0", "1: verify the graph after every pass."},
    {"WEFT_DISABLE_COMPILE", "0", "1: weft.compile returns calls the original function."},
    {"WEFT_SHARED_DATA", "", "Folder of test data (tests only)."},
    {"WEFT_ALLOCATOR_LIMIT", "", "Largest number of bytes the allocator keeps for reuse; default a quarter of memory."},
};

// The variable's value, or its default. The name must be in kVariables.
std::string get(std::string_view name);
bool flag(std::string_view name);
// One warning per unknown WEFT_* variable, to stderr.
void warn_unknown();

}  // namespace weft::env
