#if defined(__AVX2__) && defined(__FMA__)
#define WEFT_KERNELS kQuantizedAvx2
#define WEFT_KERNELS_NAME "avx2"
#define WEFT_LANES 8
#include "kernels/cpu/quantized_kernels.inc"
#endif
