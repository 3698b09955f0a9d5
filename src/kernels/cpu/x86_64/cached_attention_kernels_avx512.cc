#if defined(__AVX512F__)
#define WEFT_KERNELS kCachedAttentionAvx512
#define WEFT_LANES 16
#include "kernels/cpu/cached_attention_kernels.inc"
#endif
