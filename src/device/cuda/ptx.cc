#include "device/cuda/ptx.h"

#include <fmt/format.h>

#include <array>

#include "runtime/clang_toolchain.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

// Each GPU with the first PTX that has it, and with the first CUDA whose driver reads that.
struct Known {
  PtxTarget target;
  int cuda;
};
constexpr std::array<Known, 6> kKnown{{{{90, 78}, 11080},
                                       {{89, 78}, 11080},
                                       {{86, 71}, 11010},
                                       {{80, 70}, 11000},
                                       {{75, 63}, 10000},
                                       {{70, 60}, 9000}}};

}  // namespace

int newest_ptx(int driver_version) {
  const int major = driver_version / 1000, minor = driver_version % 1000 / 10;
  if (major >= 11) return (major - 4) * 10 + minor;  // CUDA 11.8: PTX 7.8, 12.0: 8.0
  return major == 10 ? 63 + minor : major == 9 ? 60 + minor : 50;
}

PtxTarget ptx_target(int capability, int driver_version) {
  for (const Known& known : kKnown)
    if (known.target.capability <= capability && known.cuda <= driver_version) return known.target;
  return {0, 0};
}

std::string compile_to_ptx(const std::string& name, const std::string& source, PtxTarget target) {
  std::vector<std::string> flags = {"--target=nvptx64-nvidia-cuda",
                                    fmt::format("-march=sm_{}", target.capability),
                                    fmt::format("-mptx{}", target.version)};
  for (const char* flag :
       {"-std=c++20", "-O3", "-w", "-ffp-contract=off", "-ffreestanding", "-nostdinc", "-fno-rtti",
        "-fno-threadsafe-statics", "-fno-exceptions", "-fwrapv", "-fno-math-errno", "-fno-trapping-math"})
    flags.emplace_back(flag);
  const runtime::Toolchain& clang = runtime::clang_toolchain();
  std::string why_not;
  if (!clang.available(&why_not))
    throw_error(ErrorKind::Runtime,
                fmt::format("cuda: kernels for GPUs are made by the in-process compiler: {}", why_not));
  return runtime::compile_with_clang({name, source}, flags);
}

}  // namespace weft::cuda
