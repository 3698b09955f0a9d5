#if defined(__AVX2__)
#define WEFT_KERNELS kCachedAttentionAvx2
#define WEFT_LANES 8
#include "kernels/cpu/cached_attention_kernels.inc"
#endif
