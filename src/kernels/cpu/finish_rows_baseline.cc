#define WEFT_FINISH finish_rows_baseline
#define WEFT_LANES 4
#include "kernels/cpu/finish_rows.inc"
