#if defined(__AVX2__)
#define WEFT_KERNELS kAffineAvx2
#define WEFT_KERNELS_NAME "avx2"
#include "kernels/cpu/affine_rows.inc"
#endif
