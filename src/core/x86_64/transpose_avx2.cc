#if defined(__AVX2__)
#define WEFT_TRANSPOSE kTransposeAvx2
#include "core/transpose.inc"
#endif
