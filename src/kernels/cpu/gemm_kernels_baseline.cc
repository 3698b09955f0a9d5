#define WEFT_KERNELS kGemmKernelsBaseline
#define WEFT_KERNELS_NAME "baseline"
#define WEFT_LANES 4
#define WEFT_ROWS 12, kVectorRegisters == 32 ? 12 : 6, kVectorRegisters == 32 ? 8 : 4
#include "kernels/cpu/gemm_kernels.inc"
