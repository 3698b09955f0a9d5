#define WEFT_KERNELS kCachedAttentionBaseline
#define WEFT_LANES 4
#include "kernels/cpu/cached_attention_kernels.inc"
