#if defined(__AVX512F__)
#define WEFT_KERNELS kAttentionAvx512
#define WEFT_LANES 16
#define WEFT_VECTORS 4
#include "kernels/cpu/attention_kernels.inc"
#endif
