#include "kernels/cpu/quantized_kernels.h"

#include "kernels/cpu/levels.h"

namespace weft::kernels {

const QuantizedKernels& quantized_kernels() {
  static const QuantizedKernels& kernels = *best_kernels(&KernelLevel::quantized);
  return kernels;
}

}  // namespace weft::kernels
