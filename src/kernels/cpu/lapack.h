// LAPACK's routines on column-major matrices, for float, double and complex numbers of these. Each returns
// LAPACK's info; what a routine overwrites is its argument.
#pragma once

#include <complex>
#include <type_traits>

namespace weft::kernels {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};

template <class T>
struct Lapack {
  using Real = typename RealOf<T>::type;
  using Complex = std::complex<Real>;

  static int lu(int m, int n, T* a, int* pivots);
  static int lu_solve(int n, int num_right, const T* lu, const int* pivots, T* b, bool adjoint = false);
  // a = L D L^T, or L D L^H: the lower half is read and overwritten.
  static int ldl(int n, T* a, int* pivots, bool hermitian);
  static int ldl_solve(int n, int num_right, const T* factors, const int* pivots, T* b, bool hermitian);
  // b[n][num_right] becomes the solution; a zero on the diagonal divides.
  static void solve_triangular(int n, int num_right, const T* a, T* b, bool upper, bool unit_diagonal);
  // c[n][n] = a @ b of square matrices.
  static void product(int n, const T* a, const T* b, T* c);
  static int cholesky_lower(int n, T* a);
  // Householder vectors below R, and their factors tau[min(m, n)]; and the first `columns` columns of Q from
  // them.
  static int qr(int m, int n, T* a, T* tau);
  static int qr_vectors(int m, int columns, int reflectors, T* a, const T* tau);
  // Ascending; with vectors, they replace a.
  static int symmetric_eigenvalues(int n, T* a, Real* values, bool vectors, bool upper);
  // `vectors`: [n][n], or null.
  static int eigenvalues(int n, T* a, Complex* values, Complex* vectors);
  // `job`: 'N' no vectors, 'S' the first min(m, n) of each, 'A' all: u[m][…], vt[…][n].
  static int singular_values(char job, int m, int n, T* a, Real* values, T* u, T* vt);
  // The solutions replace b[max(m, n)][num_right].
  static int least_squares(int m, int n, int num_right, T* a, T* b, Real* singular_values, Real rcond,
                           int* rank);
};

}  // namespace weft::kernels
