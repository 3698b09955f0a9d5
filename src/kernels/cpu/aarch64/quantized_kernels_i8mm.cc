#if defined(__ARM_FEATURE_MATMUL_INT8)
#define WEFT_KERNELS kQuantizedI8mm
#define WEFT_KERNELS_NAME "i8mm"
#define WEFT_LANES 4
#include "kernels/cpu/quantized_kernels.inc"
#endif
