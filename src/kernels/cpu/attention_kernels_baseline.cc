#define WEFT_KERNELS kAttentionBaseline
#define WEFT_LANES 4
#define WEFT_VECTORS 2
#include "kernels/cpu/attention_kernels.inc"
