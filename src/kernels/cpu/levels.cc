#include "kernels/cpu/levels.h"

namespace weft::kernels {

KernelLevel baseline_level() {
  return {.name = "baseline",
          .is_usable = true,
          .affine = &kAffineBaseline,
          .attention = &kAttentionBaseline,
          .cached_attention = &kCachedAttentionBaseline,
          .fft32 = &kFft32Baseline,
          .fft64 = &kFft64Baseline,
          .finish_rows = finish_rows_baseline,
          .gates = &kGatesBaseline,
          .gemm = &kGemmKernelsBaseline,
          .int8 = &kInt8Baseline,
          .quantized = &kQuantizedBaseline};
}

}  // namespace weft::kernels
