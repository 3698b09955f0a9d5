#if defined(__AVX512F__)
#define WEFT_KERNELS kGatesAvx512
#define WEFT_LANES 16
#include "kernels/cpu/recurrent_kernels.inc"
#endif
