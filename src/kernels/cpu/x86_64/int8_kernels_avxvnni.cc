#if defined(__AVXVNNI__)
#define WEFT_KERNELS kInt8AvxVnni
#define WEFT_KERNELS_NAME "avxvnni"
#define WEFT_LANES 8
#include "kernels/cpu/int8_kernels.inc"
#endif
