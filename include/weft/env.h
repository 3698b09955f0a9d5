// Every environment variable weft reads, declared once. An unknown WEFT_* variable warns at first use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::env {

struct Variable {
  const char* name;
  const char* default_value;
  const char* doc;
};

inline constexpr Variable kVariables[] = {
    {"WEFT_LOGS", "",
     "Comma-separated log channels: output_code, graph_breaks, recompiles, guards, fusion, schedule, cache, "
     "passes, executor."},
    {"WEFT_DUMP", "", "Folder to write numbered files to, one per compiler stage and kernel."},
    {"WEFT_CACHE_DIR", "", "Folder of compiled kernels; default $XDG_CACHE_HOME/weft or ~/.cache/weft."},
    {"WEFT_CACHE_LIMIT_MB", "512",
     "Size in MiB above which the least recently used compiled kernels are removed; 0: no limit."},
    {"WEFT_DISABLE_CACHE", "0", "1: neither read nor write compiled kernels on disk."},
    {"WEFT_TOOLCHAIN", "auto", "clang (in-process), c++ (spawned), or auto: the first that works."},
    {"WEFT_CXX", "c++", "The compiler the spawned toolchain runs."},
    {"WEFT_CLANG_PLUGIN", "",
     "The library of the in-process compiler; default: libweft_clang.so beside libweft.so."},
    {"WEFT_VECTOR_BYTES", "0", "Vector width of generated code in bytes: 16, 32 or 64; 0: the machine's."},
    {"WEFT_STREAMING_BYTES", "16777216",
     "Bytes of results from which on generated code writes them past the caches."},
    {"WEFT_KERNEL_OPTIMIZATION", "2",
     "How much compiled kernels are optimized: 0, 1 or 2. Results are the same."},
    {"WEFT_INTERPRET", "0", "1: captured graphs run operator by operator in the reference interpreter."},
    {"WEFT_VERIFY", "0", "1: verify the graph after every pass."},
    {"WEFT_DISABLE_COMPILE", "0", "1: weft.compile returns calls the original function."},
    {"WEFT_JIT_COMPILE", "1",
     "0: TorchScript is interpreted, never compiled (weft::jit::set_profiling_executor)."},
    {"WEFT_TRACE", "", "File to write a timeline of all threads to, which Perfetto opens (docs/THREADS.md)."},
    {"WEFT_SHARED_DATA", "", "Folder of test data (tests only)."},
    {"WEFT_ALLOCATOR_LIMIT", "",
     "Largest number of bytes the allocator keeps for reuse; default a quarter of memory."},
};

// The variable's value, or its default. The name must be in kVariables.
std::string get(std::string_view name);
// 1, true, yes, on / 0, false, no, off; ValueError for anything else.
bool flag(std::string_view name);
// A whole number >= 0; ValueError for anything else.
int64_t integer(std::string_view name);
// Names of WEFT_* variables in the environment that are neither in kVariables nor a test's own (WEFT_TEST_*).
std::vector<std::string> unknown();
// One warning per unknown WEFT_* variable, to stderr. Called by the first get().
void warn_unknown();

}  // namespace weft::env
