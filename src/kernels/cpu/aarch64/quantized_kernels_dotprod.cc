#if defined(__ARM_FEATURE_DOTPROD)
#define WEFT_KERNELS kQuantizedDotprod
#define WEFT_KERNELS_NAME "dotprod"
#define WEFT_LANES 4
#include "kernels/cpu/quantized_kernels.inc"
#endif
