#include "kernels/cpu/gemm_kernels.h"

#include "kernels/cpu/levels.h"

namespace weft::kernels {

const GemmKernels& gemm_kernels() {
  static const GemmKernels& kernels = *best_kernels(&KernelLevel::gemm);
  return kernels;
}

}  // namespace weft::kernels
