#define WEFT_KERNELS_32 kFft32Baseline
#define WEFT_KERNELS_64 kFft64Baseline
#define WEFT_VECTOR_SIZE 16
#include "kernels/cpu/fft_kernels.inc"
