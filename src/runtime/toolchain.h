// From generated C++ to callable machine code: two toolchains behind one interface, and the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

struct CompileRequest {
  std::string name;    // for files and messages: [A-Za-z0-9_]+
  std::string source;  // freestanding C++20, complete; no system header
  // What sources have in common, in a form that makes `source` skip it. A toolchain may keep it compiled, or
  // not look at it: the code is the same. Text that lives as long as the process, a zero behind it.
  std::string_view prelude = {};
};

// A loaded kernel library. Symbols stay valid as long as it lives.
class Module {
 public:
  virtual ~Module() = default;
  virtual void* symbol(std::string_view name) const = 0;  // internal error when absent
};

// Turns source into the bytes of a shared object.
class Toolchain {
 public:
  virtual ~Toolchain() = default;
  virtual std::string_view name() const = 0;  // "clang", "c++"
  // What tells this compiler from others, found without running or loading it: part of the cache key. Empty
  // when it is not installed.
  virtual std::string id() const = 0;
  virtual bool available(std::string* why_not) const = 0;
  // The shared object's bytes; throws Error(Runtime) with the compiler's message.
  virtual std::string compile(const CompileRequest& request) const = 0;
};

// "clang", "c++", "auto" or "" (WEFT_TOOLCHAIN). Throws Error(Runtime) saying why none works.
const Toolchain& toolchain(std::string_view name = "");
// In auto's order of preference.
std::vector<const Toolchain*> toolchains();

struct LoadedKernel {
  std::shared_ptr<const Module> module;
  double compile_ms = 0;    // 0 from a cache
  const char* origin = "";  // "compiled", "disk cache", "memory cache"
};
// Memory cache, then disk cache, then the toolchain.
LoadedKernel load_kernel(const CompileRequest& request, std::string_view toolchain_name = "");

// The flags every toolchain uses, for the host CPU.
std::vector<std::string> kernel_flags();
int host_vector_bytes();
std::string host_cpu_name();                   // "x86-64-v4", as -march wants it
std::vector<std::string> host_cpu_features();  // "avx512f", …
// "AVX512", "AVX2" or "DEFAULT": the instructions that PyTorch's kernels have on this processor, and packs that they
// make are laid out for. ATEN_CPU_CAPABILITY names others, as it does there.
std::string torch_cpu_capability();

// "" when there is no home folder and WEFT_CACHE_DIR is unset.
std::string cache_directory();
struct CacheStats {
  int64_t entries = 0, bytes = 0;
};
CacheStats cache_stats();
void clear_memory_cache();
void clear_disk_cache();

}  // namespace weft::runtime
