#if defined(__AVX2__) && defined(__FMA__)
#define WEFT_KERNELS_32 kFft32Avx2
#define WEFT_KERNELS_64 kFft64Avx2
#define WEFT_VECTOR_SIZE 32
#include "kernels/cpu/fft_kernels.inc"
#endif
