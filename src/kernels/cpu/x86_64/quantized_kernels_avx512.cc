#if defined(__AVX512F__)
#define WEFT_KERNELS kQuantizedAvx512
#define WEFT_KERNELS_NAME "avx512"
#define WEFT_LANES 16
#include "kernels/cpu/quantized_kernels.inc"
#endif
