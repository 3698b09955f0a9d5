#if defined(__AVX2__)
#define WEFT_KERNELS kGemmKernelsAvx2
#define WEFT_KERNELS_NAME "avx2"
#define WEFT_LANES 8
#define WEFT_ROWS 12, 6, 4
#include "kernels/cpu/gemm_kernels.inc"
#endif
