#include "kernels/cpu/affine_rows.h"

#include "kernels/cpu/levels.h"

namespace weft::kernels {

const AffineKernels& affine_kernels() {
  static const AffineKernels& kernels = *best_kernels(&KernelLevel::affine);
  return kernels;
}

}  // namespace weft::kernels
