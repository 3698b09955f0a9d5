// Float32 matrix products on weft's own threads.
#pragma once

#include "kernels/cpu/blas.h"

namespace weft::kernels {

// c[m, n] (rows contiguous) = a[m, k] @ b[k, n]. What it gives does not depend on the number of threads.
void gemm_f32(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c);
// c += a @ b, each sum going on from what c holds: for more than a few rows.
void add_product_f32(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c);

}  // namespace weft::kernels
