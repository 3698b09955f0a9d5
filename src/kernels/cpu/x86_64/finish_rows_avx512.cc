#if defined(__AVX512F__)
#define WEFT_FINISH finish_rows_avx512
#define WEFT_LANES 16
#include "kernels/cpu/finish_rows.inc"
#endif
