#if defined(__AVX2__)
#define WEFT_KERNELS kInt8Avx2
#define WEFT_KERNELS_NAME "avx2"
#define WEFT_LANES 8
#include "kernels/cpu/int8_kernels.inc"
#endif
