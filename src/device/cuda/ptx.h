// PTX of kernels, by the in-process Clang; no GPU and no driver are needed.
#pragma once

#include <string>

namespace weft::cuda {

// For which GPU, and in which version of PTX: what a driver must know at least.
struct PtxTarget {
  int capability;  // 90: sm_90
  int version;     // 78: PTX 7.8
};

// For a GPU of this capability under a driver of this version of CUDA (12040: 12.4). LLVM 19 knows GPUs up to
// sm_90; drivers assemble PTX of an older GPU for newer ones, too. Capability 0: none that the driver reads.
PtxTarget ptx_target(int capability, int driver_version);
// The newest version of PTX that a driver of this version of CUDA reads.
int newest_ptx(int driver_version);

// What codegen::print_grid gave, as PTX. RuntimeError with the compiler's message, and where there is none.
std::string compile_to_ptx(const std::string& name, const std::string& source, PtxTarget target);

}  // namespace weft::cuda
