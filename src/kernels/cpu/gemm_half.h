// Products of float16 and bfloat16 matrices, added in float32.
#pragma once

#include "kernels/cpu/blas.h"

namespace weft::kernels {

// c[m, n] (rows contiguous) = a[m, k] @ b[k, n] + bias[n] (or null), rounded once. T: Half, BFloat16. Half on
// an engine with tiles where that is faster (gemm_float16.h).
template <class T>
void gemm_half(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, const T* bias, T* c);

}  // namespace weft::kernels
