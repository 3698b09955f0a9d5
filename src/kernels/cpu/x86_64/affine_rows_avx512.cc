#if defined(__AVX512F__)
#define WEFT_KERNELS kAffineAvx512
#define WEFT_KERNELS_NAME "avx512"
#include "kernels/cpu/affine_rows.inc"
#endif
