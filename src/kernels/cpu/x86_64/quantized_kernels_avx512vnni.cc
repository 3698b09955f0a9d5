#if defined(__AVX512VNNI__)
#define WEFT_KERNELS kQuantizedAvx512Vnni
#define WEFT_KERNELS_NAME "avx512vnni"
#define WEFT_LANES 16
#include "kernels/cpu/quantized_kernels.inc"
#endif
