// Every environment variable weft reads, declared once. What is wrong with the environment, an unknown WEFT_*
// variable or a value that a variable cannot have, is a warning on stderr, never an error: when weft is
// loaded by Python, when the command starts, at the first use in a C++ program. An empty value is as none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::env {

// What a variable's value is. A wrong one of the first three is as none.
enum class Kind {
  Flag,      // 1, true, yes, on / 0, false, no, off
  Number,    // a whole number >= 0
  Choice,    // one of some words
  Channels,  // log channels; those that there are count
  Program,   // a program in PATH or a path, and its arguments
  File,      // a file that is there
  Folder,    // a folder, or a name that one can be made of
  Text,
};

struct Variable {
  const char* name;
  Kind kind;
  const char* default_value;
  const char* doc;
  const char* choices = "";  // separated by spaces
  int64_t largest = 0;       // number
};

inline constexpr Variable kVariables[] = {
    {"WEFT_LOGS", Kind::Channels, "",
     "Comma-separated log channels: output_code, graph_breaks, recompiles, guards, fusion, schedule, cache, "
     "passes, executor, autotune, syncs, native_loops."},
    {"WEFT_DUMP", Kind::Folder, "", "Folder to write numbered files to, one per compiler stage and kernel."},
    {"WEFT_CACHE_DIR", Kind::Folder, "",
     "Folder of compiled kernels and measured choices; default $XDG_CACHE_HOME/weft or ~/.cache/weft."},
    {"WEFT_CACHE_LIMIT_MB", Kind::Number, "512",
     "Size in MiB above which the least recently used compiled kernels are removed; 0: no limit.", "",
     INT64_MAX >> 20},
    {"WEFT_DISABLE_CACHE", Kind::Flag, "0",
     "1: neither read nor write compiled kernels and measured choices on disk."},
    {"WEFT_TOOLCHAIN", Kind::Choice, "auto",
     "clang (in-process), c++ (spawned), or auto: the first that works.", "auto clang c++"},
    {"WEFT_CXX", Kind::Program, "c++", "The compiler the spawned toolchain runs."},
    {"WEFT_CLANG_PLUGIN", Kind::File, "",
     "The library of the in-process compiler; default: libweft_clang.so beside libweft.so."},
    {"WEFT_VECTOR_BYTES", Kind::Choice, "0",
     "Vector width of generated code in bytes: 16, 32 or 64; 0: the machine's.", "0 16 32 64"},
    {"WEFT_STREAMING_BYTES", Kind::Number, "16777216",
     "Bytes of results from which on generated code writes them past the caches.", "", INT64_MAX},
    {"WEFT_READ_AHEAD", Kind::Choice, "auto",
     "1: generated code that writes past the caches asks for what it will read, as far ahead and in as wide "
     "vectors as it finds to be fastest; 0: it does not; auto: on Intel's processors.",
     "auto 0 1"},
    {"WEFT_KERNEL_OPTIMIZATION", Kind::Choice, "2",
     "How much compiled kernels are optimized: 0, 1 or 2. Results are the same.", "0 1 2"},
    {"WEFT_INTERPRET", Kind::Flag, "0",
     "1: captured graphs run operator by operator in the reference interpreter."},
    {"WEFT_VERIFY", Kind::Flag, "0", "1: verify the graph after every pass."},
    {"WEFT_DISABLE_COMPILE", Kind::Flag, "0", "1: weft.compile returns calls the original function."},
    {"WEFT_JIT_COMPILE", Kind::Flag, "1",
     "0: TorchScript is interpreted, never compiled (weft::jit::set_profiling_executor)."},
    {"WEFT_DEVICE_EMULATE", Kind::Flag, "0",
     "1: the device cuda is emulated on the host, block by block and thread by thread; for tests "
     "(docs/GPU.md)."},
    {"WEFT_CUDA_COMPILER", Kind::Choice, "auto",
     "What makes PTX of kernels for GPUs: clang (in-process), nvrtc (NVIDIA's library), or auto: the first "
     "that is there.",
     "auto clang nvrtc"},
    {"WEFT_CUDA_PRODUCTS", Kind::Choice, "auto",
     "Products of 16-bit numbers and bytes on GPUs: mma (mma.sync), wgmma (where a GPU has it and the sizes "
     "allow it, on the emulated device, too), or auto.",
     "auto mma wgmma"},
    {"WEFT_CUDA_BLOCKING", Kind::Flag, "0",
     "1: each kernel on a GPU is waited for, so that an error names the one that failed."},
    {"WEFT_TRACE", Kind::Text, "",
     "File to write a timeline of all threads to, which Perfetto opens (docs/PROFILER.md); %p: the process."},
    {"WEFT_TRACE_LIMIT", Kind::Number, "1073741824",
     "Largest number of bytes of a timeline's file; later events are left out.", "", INT64_MAX},
    {"WEFT_SHARED_DATA", Kind::Folder, "", "Folder of test data (tests only)."},
    {"WEFT_ALLOCATOR_LIMIT", Kind::Number, "",
     "Largest number of bytes the allocator keeps for reuse; default a quarter of memory.", "", INT64_MAX},
};

// The variable's value; its default where it has none, or (after one warning) one that it cannot have. The
// name must be in kVariables.
std::string get(std::string_view name);
bool flag(std::string_view name);  // of kind Flag
// Of kind Number; nullopt: neither a value nor a default.
std::optional<int64_t> number(std::string_view name);
// Why the variable cannot have the value, "expected 0 or 1", or "". Of a File, Folder or Program: what is
// wrong with it now.
std::string problem(const Variable& variable, std::string_view value);
// A value as messages show it: of bounded length, with \xff for what is no printable ASCII.
std::string shown(std::string_view value);
// Names of WEFT_* variables in the environment that are neither in kVariables nor a test's own (WEFT_TEST_*).
std::vector<std::string> unknown();
// One warning, to stderr, per unknown WEFT_* variable and per wrong value; once in the process. Called by the
// first get().
void check();

}  // namespace weft::env
