#define WEFT_KERNELS kAffineBaseline
#define WEFT_KERNELS_NAME "baseline"
#include "kernels/cpu/affine_rows.inc"
