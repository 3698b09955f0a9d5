#define WEFT_KERNELS kQuantizedBaseline
#define WEFT_KERNELS_NAME "baseline"
#define WEFT_LANES 4
#include "kernels/cpu/quantized_kernels.inc"
