#if defined(__AVXVNNI__)
#define WEFT_KERNELS kQuantizedAvxVnni
#define WEFT_KERNELS_NAME "avxvnni"
#define WEFT_LANES 8
#include "kernels/cpu/quantized_kernels.inc"
#endif
