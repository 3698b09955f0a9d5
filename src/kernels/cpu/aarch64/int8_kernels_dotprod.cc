#if defined(__ARM_FEATURE_DOTPROD)
#define WEFT_KERNELS kInt8Dotprod
#define WEFT_KERNELS_NAME "dotprod"
#define WEFT_LANES 4
#include "kernels/cpu/int8_kernels.inc"
#endif
