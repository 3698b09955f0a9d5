#if defined(__AVX2__) && defined(__FMA__)
#define WEFT_KERNELS kGatesAvx2
#define WEFT_LANES 8
#include "kernels/cpu/recurrent_kernels.inc"
#endif
