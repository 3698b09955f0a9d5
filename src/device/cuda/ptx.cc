#include "device/cuda/ptx.h"

#include <fmt/format.h>

#include <array>

#include "runtime/clang_toolchain.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

// Each GPU with the first PTX that has it, and with the first CUDA whose driver reads that.
struct Known {
  PtxTarget target;
  int cuda;
};
constexpr std::array<Known, 6> kKnown{{{{90, 78, 0}, 11080},
                                       {{89, 78, 0}, 11080},
                                       {{86, 71, 0}, 11010},
                                       {{80, 70, 0}, 11000},
                                       {{75, 63, 0}, 10000},
                                       {{70, 60, 0}, 9000}}};

class ClangPtxCompiler final : public PtxCompiler {
 public:
  std::string id() const override { return runtime::clang_toolchain().id(); }
  std::string why_unavailable() const override {
    std::string why_not;
    runtime::clang_toolchain().available(&why_not);
    return why_not;
  }
  std::string compile(const std::string& name, const std::string& source, PtxTarget target) const override {
    std::vector<std::string> flags = {"--target=nvptx64-nvidia-cuda", "-march=" + name_of("sm_", target),
                                      fmt::format("-mptx{}", target.version)};
    for (const char* flag :
         {"-std=c++20", "-O3", "-w", "-ffp-contract=off", "-ffreestanding", "-nostdinc", "-fno-rtti",
          "-fno-threadsafe-statics", "-fno-exceptions", "-fwrapv", "-fno-math-errno", "-fno-trapping-math"})
      flags.emplace_back(flag);
    return runtime::compile_with_clang({name, source}, flags);
  }
};

}  // namespace

std::string name_of(const char* prefix, PtxTarget target) {
  return fmt::format("{}{}{}", prefix, target.capability, target.is_exact ? "a" : "");
}

int newest_ptx(int driver_version) {
  const int major = driver_version / 1000, minor = driver_version % 1000 / 10;
  if (major >= 11) return (major - 4) * 10 + minor;  // CUDA 11.8: PTX 7.8, 12.0: 8.0
  return major == 10 ? 63 + minor : major == 9 ? 60 + minor : 50;
}

PtxTarget ptx_target(int capability, int driver_version) {
  for (const Known& known : kKnown)
    if (known.target.capability <= capability && known.cuda <= driver_version)
      return {known.target.capability, known.target.version, newest_ptx(driver_version)};
  return {0, 0, 0};
}

const PtxCompiler& clang_ptx_compiler() {
  static const ClangPtxCompiler& instance = *new ClangPtxCompiler;
  return instance;
}

const PtxCompiler& ptx_compiler(std::string_view name) {
  const std::string wanted = name.empty() ? env::get("WEFT_CUDA_COMPILER") : std::string(name);
  WEFT_CHECK(wanted == "auto" || wanted == "clang" || wanted == "nvrtc",
             fmt::format("cuda: expected the compiler auto, clang or nvrtc, got {}", env::shown(wanted)));
  if (wanted == "clang") return clang_ptx_compiler();
  if (wanted == "nvrtc") return nvrtc_ptx_compiler();
  return clang_ptx_compiler().id().empty() ? nvrtc_ptx_compiler() : clang_ptx_compiler();
}

std::string compile_to_ptx(const std::string& name, const std::string& source, PtxTarget target,
                           std::string_view compiler) {
  const PtxCompiler& chosen = ptx_compiler(compiler);
  if (std::string why = chosen.why_unavailable(); !why.empty()) {
    if (&chosen == &nvrtc_ptx_compiler() && clang_ptx_compiler().id().empty())
      why = fmt::format("{}; and the in-process compiler is {}", why, clang_ptx_compiler().why_unavailable());
    throw_error(ErrorKind::Runtime, fmt::format("cuda: there is no compiler of kernels for GPUs: {}", why));
  }
  if (source.find(kWantsSm90a) == std::string::npos) return chosen.compile(name, source, target);
  WEFT_ASSERT(target.capability == kSm90a.capability && target.newest >= kSm90a.version,
              "a kernel of sm_90a on a GPU that is one");
  target.version = kSm90a.version, target.is_exact = true;
  return chosen.compile(name, source, target);
}

}  // namespace weft::cuda
