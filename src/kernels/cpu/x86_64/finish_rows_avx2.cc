#if defined(__AVX2__)
#define WEFT_FINISH finish_rows_avx2
#define WEFT_LANES 8
#include "kernels/cpu/finish_rows.inc"
#endif
