// PTX of kernels: by the in-process Clang or, where there is none, by NVIDIA's NVRTC. No GPU and no driver
// are needed.
#pragma once

#include <string>
#include <string_view>

namespace weft::cuda {

// For which GPU, and in which version of PTX: what a driver must know at least.
struct PtxTarget {
  int capability;         // 90: sm_90
  int version;            // 78: PTX 7.8
  int newest;             // that the driver reads
  bool is_exact = false;  // sm_90a: what only this GPU has
};
// Of texts that say so with this line.
inline constexpr PtxTarget kSm90a{90, 80, 0, true};
inline constexpr std::string_view kWantsSm90a = "#define WEFT_SM_90A\n";
// "sm_80", "sm_90a" and so on, behind the prefix.
std::string name_of(const char* prefix, PtxTarget target);

// For a GPU of this capability under a driver of this version of CUDA (12040: 12.4). LLVM 19 knows GPUs up to
// sm_90; drivers assemble PTX of an older GPU for newer ones, too. Capability 0: none that the driver reads.
PtxTarget ptx_target(int capability, int driver_version);
// The newest version of PTX that a driver of this version of CUDA reads.
int newest_ptx(int driver_version);

class PtxCompiler {
 public:
  virtual ~PtxCompiler() = default;
  // What tells this compiler from others: part of the cache's keys. Empty: it is not there.
  virtual std::string id() const = 0;
  virtual std::string why_unavailable() const = 0;
  // RuntimeError with the compiler's message.
  virtual std::string compile(const std::string& name, const std::string& source, PtxTarget target) const = 0;
};
const PtxCompiler& clang_ptx_compiler();
// libnvrtc.so, loaded when it is first asked for.
const PtxCompiler& nvrtc_ptx_compiler();
// "clang", "nvrtc", "auto" or "" (WEFT_CUDA_COMPILER); auto: the first that is there.
const PtxCompiler& ptx_compiler(std::string_view name = "");

// What codegen::print_grid gave, as PTX. RuntimeError where there is no compiler, which says of each why.
std::string compile_to_ptx(const std::string& name, const std::string& source, PtxTarget target,
                           std::string_view compiler = "");

}  // namespace weft::cuda
