// Matrix products on weft's threads, and the BLAS and LAPACK behind them and weft.linalg: OpenBLAS, loaded at
// first use and never with threads of its own.
#pragma once

#include <complex>
#include <cstdint>

#include "weft/dtype.h"

namespace weft::kernels {

// A matrix in memory: element (i, j) at data[i * row_stride + j * column_stride], strides in elements.
template <class T>
struct MatrixView {
  const T* data;
  int64_t row_stride, column_stride;
};

// c[m, n] (row-major, contiguous) = a[m, k] @ b[k, n].
// float is gemm_f32 of gemm.h; double and the complex types go to BLAS; integers wrap; bool is or of ands;
// 16-bit floats add in float32.
template <class T>
void matrix_product(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c);

// LAPACK on column-major matrices, double and float. Each returns LAPACK's info.
template <class T>
struct Lapack {
  static int lu(int n, T* a, int* pivots);
  static int lu_solve(int n, int num_right, const T* lu, const int* pivots,
                      T* b);  // b: column-major, in place
  static int cholesky_lower(int n, T* a);
  static int symmetric_eigenvalues(int n, T* a, T* values);
  static int singular_values(int m, int n, T* a, T* values);
};

// How the library was found, for `weft info`; loads it.
const char* blas_description();

}  // namespace weft::kernels
