#if defined(__AVX2__) && defined(__FMA__)
#define WEFT_KERNELS kAttentionAvx2
#define WEFT_LANES 8
#define WEFT_VECTORS 2
#include "kernels/cpu/attention_kernels.inc"
#endif
