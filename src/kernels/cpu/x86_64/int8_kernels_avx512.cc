#if defined(__AVX512BW__)
#define WEFT_KERNELS kInt8Avx512
#define WEFT_KERNELS_NAME "avx512"
#define WEFT_LANES 16
#include "kernels/cpu/int8_kernels.inc"
#endif
