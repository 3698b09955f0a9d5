#define WEFT_KERNELS kInt8Baseline
#define WEFT_KERNELS_NAME "baseline"
#define WEFT_LANES 4
#include "kernels/cpu/int8_kernels.inc"
