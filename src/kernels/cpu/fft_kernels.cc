#include "kernels/cpu/fft_kernels.h"

#include "kernels/cpu/levels.h"

namespace weft::kernels {

template <>
const FftKernels<float>& fft_kernels<float>() {
  static const FftKernels<float>& kernels = *best_kernels(&KernelLevel::fft32);
  return kernels;
}
template <>
const FftKernels<double>& fft_kernels<double>() {
  static const FftKernels<double>& kernels = *best_kernels(&KernelLevel::fft64);
  return kernels;
}

}  // namespace weft::kernels
