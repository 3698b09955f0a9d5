#if defined(__AVX512F__)
#define WEFT_KERNELS_32 kFft32Avx512
#define WEFT_KERNELS_64 kFft64Avx512
#define WEFT_VECTOR_SIZE 64
#include "kernels/cpu/fft_kernels.inc"
#endif
