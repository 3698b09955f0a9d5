#include "kernels/cpu/gemm_kernels.h"

#include "runtime/toolchain.h"

namespace weft::kernels {
namespace {

const GemmKernels& select_gemm() {
#if defined(__x86_64__)
  const int bytes = runtime::host_vector_bytes();
  bool fma = false;
  for (const auto& feature : runtime::host_cpu_features()) fma = fma || feature == "fma";
  if (bytes >= 64 && fma) return kGemmKernelsAvx512;
  if (bytes >= 32 && fma) return kGemmKernelsAvx2;
#endif
  return kGemmKernelsBaseline;
}

}  // namespace

const GemmKernels& gemm_kernels() {
  static const GemmKernels& kernels = select_gemm();
  return kernels;
}

}  // namespace weft::kernels
