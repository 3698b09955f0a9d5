// Matrix products on weft's threads, and the BLAS and LAPACK behind them and weft.linalg: OpenBLAS, loaded at
// first use and never with threads of its own.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>

#include "weft/dtype.h"
#include "weft/parallel.h"

namespace weft::kernels {

// A matrix in memory: element (i, j) at data[i * row_stride + j * column_stride], strides in elements.
template <class T>
struct MatrixView {
  const T* data;
  int64_t row_stride, column_stride;
};

// Is the product a @ a.T, whose result is symmetric? Then half of it is computed.
template <class T>
bool is_own_transpose(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b) {
  constexpr int64_t kSmall = 16;  // not worth it
  return m == n && n > kSmall && k > 1 && a.data == b.data && a.row_stride == b.column_stride &&
         a.column_stride == b.row_stride;
}

// Copies the upper triangle of c[n, n] to the lower one.
template <class T>
void mirror_upper(int64_t n, T* c) {
  constexpr int64_t kBlock = 16;
  const int64_t blocks = (n + kBlock - 1) / kBlock, grain = std::max<int64_t>(1, (1 << 15) / (kBlock * n));
  parallel_for(0, blocks, grain, [=](int64_t begin, int64_t end) {
    for (int64_t i0 = begin * kBlock; i0 < std::min(n, end * kBlock); i0 += kBlock)
      for (int64_t j0 = 0; j0 <= i0; j0 += kBlock)
        for (int64_t i = i0; i < std::min(n, i0 + kBlock); ++i)
          for (int64_t j = j0; j < std::min(i, j0 + kBlock); ++j) c[i * n + j] = c[j * n + i];
  });
}

// c[m, n] (row-major, contiguous) = a[m, k] @ b[k, n].
// float is gemm_f32 of gemm.h; double and the complex types go to BLAS; integers wrap; bool is or of ands;
// 16-bit floats add in float32, bfloat16 on an engine where there is one (gemm_bfloat16.h).
template <class T>
void matrix_product(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c);

// The library's product of float32, of sizes from 1 to 2^31 - 1: what gemm_f32 may choose by measurement.
void library_product(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c);

// A function of the library, or of the LAPACK beside it, by its symbol; an internal error where there is
// none.
void* blas_function(const char* symbol);

// How the library was found, for `weft info`; loads it.
const char* blas_description();

}  // namespace weft::kernels
