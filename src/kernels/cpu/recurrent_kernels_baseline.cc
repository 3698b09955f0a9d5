#define WEFT_KERNELS kGatesBaseline
#define WEFT_LANES 4
#include "kernels/cpu/recurrent_kernels.inc"
