// Products of int8 matrices, exact in int32.
#pragma once

#include "kernels/cpu/blas.h"
#include "kernels/cpu/int8_kernels.h"

namespace weft::kernels {

// c[m, n] (rows contiguous) = a[m, k] @ b[k, n]; sums modulo 2^32.
void gemm_int8(const Int8Kernels& kernels, int64_t m, int64_t n, int64_t k, MatrixView<int8_t> a,
               MatrixView<int8_t> b, int32_t* c);

}  // namespace weft::kernels
