#if defined(__AVX512F__)
#define WEFT_KERNELS kGemmKernelsAvx512
#define WEFT_KERNELS_NAME "avx512"
#define WEFT_LANES 16
#define WEFT_ROWS 12, 12, 8
#include "kernels/cpu/gemm_kernels.inc"
#endif
