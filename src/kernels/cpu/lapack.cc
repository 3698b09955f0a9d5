#include "kernels/cpu/lapack.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/cpu/blas.h"

namespace weft::kernels {
namespace {

// Names of one routine for float, double, complex float, complex double.
struct Names {
  const char *s, *d, *c, *z;
};

template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, typename RealOf<T>::type>;

template <class F, class T>
F* routine(const Names& names) {
  const char* const name = std::is_same_v<T, float>                 ? names.s
                           : std::is_same_v<T, double>              ? names.d
                           : std::is_same_v<T, std::complex<float>> ? names.c
                                                                    : names.z;
  return reinterpret_cast<F*>(blas_function(name));
}

int leading(int rows) { return std::max(rows, 1); }
template <class T>
std::vector<T> workspace(T size) {
  return std::vector<T>(static_cast<size_t>(std::max(1.0, static_cast<double>(std::real(size)))));
}
std::vector<int> integers(int size) { return std::vector<int>(static_cast<size_t>(std::max(size, 1))); }
template <class T>
int size_of(const std::vector<T>& work) {
  return static_cast<int>(work.size());
}

}  // namespace

template <class T>
int Lapack<T>::lu(int m, int n, T* a, int* pivots) {
  using F = void(const int*, const int*, T*, const int*, int*, int*);
  static F* const getrf = routine<F, T>({"sgetrf_", "dgetrf_", "cgetrf_", "zgetrf_"});
  int info = 0;
  const int lda = leading(m);
  getrf(&m, &n, a, &lda, pivots, &info);
  return info;
}

template <class T>
int Lapack<T>::lu_solve(int n, int num_right, const T* lu, const int* pivots, T* b, bool adjoint) {
  using F = void(const char*, const int*, const int*, const T*, const int*, const int*, T*, const int*, int*,
                 size_t);
  static F* const getrs = routine<F, T>({"sgetrs_", "dgetrs_", "cgetrs_", "zgetrs_"});
  int info = 0;
  const int lda = leading(n);
  getrs(adjoint ? "C" : "N", &n, &num_right, lu, &lda, pivots, b, &lda, &info, 1);
  return info;
}

template <class T>
int Lapack<T>::ldl(int n, T* a, int* pivots, bool hermitian) {
  using F = void(const char*, const int*, T*, const int*, int*, T*, const int*, int*, size_t);
  static F* const sytrf = routine<F, T>({"ssytrf_", "dsytrf_", "csytrf_", "zsytrf_"});
  static F* const hetrf = routine<F, T>({"ssytrf_", "dsytrf_", "chetrf_", "zhetrf_"});
  F* const factor = hermitian ? hetrf : sytrf;
  int info = 0;
  const int lda = leading(n), query = -1;
  T size{};
  factor("L", &n, a, &lda, pivots, &size, &query, &info, 1);
  std::vector<T> work = workspace(size);
  const int work_size = size_of(work);
  factor("L", &n, a, &lda, pivots, work.data(), &work_size, &info, 1);
  return info;
}

template <class T>
int Lapack<T>::ldl_solve(int n, int num_right, const T* factors, const int* pivots, T* b, bool hermitian) {
  using F = void(const char*, const int*, const int*, const T*, const int*, const int*, T*, const int*, int*,
                 size_t);
  static F* const sytrs = routine<F, T>({"ssytrs_", "dsytrs_", "csytrs_", "zsytrs_"});
  static F* const hetrs = routine<F, T>({"ssytrs_", "dsytrs_", "chetrs_", "zhetrs_"});
  int info = 0;
  const int lda = leading(n);
  (hermitian ? hetrs : sytrs)("L", &n, &num_right, factors, &lda, pivots, b, &lda, &info, 1);
  return info;
}

template <class T>
void Lapack<T>::solve_triangular(int n, int num_right, const T* a, T* b, bool upper, bool unit_diagonal) {
  using F = void(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*,
                 const int*, T*, const int*, size_t, size_t, size_t, size_t);
  static F* const trsm = routine<F, T>({"strsm_", "dtrsm_", "ctrsm_", "ztrsm_"});
  const int lda = leading(n);
  const T one = 1;
  trsm("L", upper ? "U" : "L", "N", unit_diagonal ? "U" : "N", &n, &num_right, &one, a, &lda, b, &lda, 1, 1, 1,
       1);
}

template <class T>
void Lapack<T>::product(int n, const T* a, const T* b, T* c) {
  using F = void(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*,
                 const T*, const int*, const T*, T*, const int*, size_t, size_t);
  static F* const gemm = routine<F, T>({"sgemm_", "dgemm_", "cgemm_", "zgemm_"});
  const int lda = leading(n);
  const T one = 1, zero = 0;
  gemm("N", "N", &n, &n, &n, &one, a, &lda, b, &lda, &zero, c, &lda, 1, 1);
}

template <class T>
int Lapack<T>::cholesky_lower(int n, T* a) {
  using F = void(const char*, const int*, T*, const int*, int*, size_t);
  static F* const potrf = routine<F, T>({"spotrf_", "dpotrf_", "cpotrf_", "zpotrf_"});
  int info = 0;
  const int lda = leading(n);
  potrf("L", &n, a, &lda, &info, 1);
  return info;
}

template <class T>
int Lapack<T>::qr(int m, int n, T* a, T* tau) {
  using F = void(const int*, const int*, T*, const int*, T*, T*, const int*, int*);
  static F* const geqrf = routine<F, T>({"sgeqrf_", "dgeqrf_", "cgeqrf_", "zgeqrf_"});
  int info = 0;
  const int lda = leading(m), query = -1;
  T size{};
  geqrf(&m, &n, a, &lda, tau, &size, &query, &info);
  std::vector<T> work = workspace(size);
  const int work_size = size_of(work);
  geqrf(&m, &n, a, &lda, tau, work.data(), &work_size, &info);
  return info;
}

template <class T>
int Lapack<T>::qr_vectors(int m, int columns, int reflectors, T* a, const T* tau) {
  using F = void(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);
  static F* const orgqr = routine<F, T>({"sorgqr_", "dorgqr_", "cungqr_", "zungqr_"});
  int info = 0;
  const int lda = leading(m), query = -1;
  T size{};
  orgqr(&m, &columns, &reflectors, a, &lda, tau, &size, &query, &info);
  std::vector<T> work = workspace(size);
  const int work_size = size_of(work);
  orgqr(&m, &columns, &reflectors, a, &lda, tau, work.data(), &work_size, &info);
  return info;
}

template <class T>
int Lapack<T>::symmetric_eigenvalues(int n, T* a, Real* values, bool vectors, bool upper) {
  const char* const job = vectors ? "V" : "N";
  const char* const half = upper ? "U" : "L";
  const int lda = leading(n), query = -1;
  int info = 0, integer_size = 0;
  T size{};
  if constexpr (kIsComplex<T>) {
    using F = void(const char*, const char*, const int*, T*, const int*, Real*, T*, const int*, Real*,
                   const int*, int*, const int*, int*, size_t, size_t);
    static F* const heevd = routine<F, T>({"", "", "cheevd_", "zheevd_"});
    Real real_size{};
    heevd(job, half, &n, a, &lda, values, &size, &query, &real_size, &query, &integer_size, &query, &info, 1,
          1);
    std::vector<T> work = workspace(size);
    std::vector<Real> reals = workspace(real_size);
    std::vector<int> whole = integers(integer_size);
    const int work_size = size_of(work), reals_size = size_of(reals), whole_size = size_of(whole);
    heevd(job, half, &n, a, &lda, values, work.data(), &work_size, reals.data(), &reals_size, whole.data(),
          &whole_size, &info, 1, 1);
  } else {
    using F = void(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*,
                   int*, size_t, size_t);
    static F* const syevd = routine<F, T>({"ssyevd_", "dsyevd_", "", ""});
    syevd(job, half, &n, a, &lda, values, &size, &query, &integer_size, &query, &info, 1, 1);
    std::vector<T> work = workspace(size);
    std::vector<int> whole = integers(integer_size);
    const int work_size = size_of(work), whole_size = size_of(whole);
    syevd(job, half, &n, a, &lda, values, work.data(), &work_size, whole.data(), &whole_size, &info, 1, 1);
  }
  return info;
}

template <class T>
int Lapack<T>::eigenvalues(int n, T* a, Complex* values, Complex* vectors) {
  const int lda = leading(n), one = 1, query = -1;
  const char* const job = vectors ? "V" : "N";
  int info = 0;
  T size{}, none{};
  if constexpr (kIsComplex<T>) {
    using F = void(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, T*, const int*,
                   T*, const int*, Real*, int*, size_t, size_t);
    static F* const geev = routine<F, T>({"", "", "cgeev_", "zgeev_"});
    std::vector<Real> reals(static_cast<size_t>(2 * leading(n)));
    T* const right = vectors ? vectors : &none;
    const int ldvr = vectors ? lda : 1;
    geev("N", job, &n, a, &lda, values, &none, &one, right, &ldvr, &size, &query, reals.data(), &info, 1, 1);
    std::vector<T> work = workspace(size);
    const int work_size = size_of(work);
    geev("N", job, &n, a, &lda, values, &none, &one, right, &ldvr, work.data(), &work_size, reals.data(),
         &info, 1, 1);
  } else {
    using F = void(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*,
                   const int*, T*, const int*, int*, size_t, size_t);
    static F* const geev = routine<F, T>({"sgeev_", "dgeev_", "", ""});
    const auto count = static_cast<size_t>(leading(n));
    std::vector<T> re(count), im(count), right(vectors ? count * count : 1);
    const int ldvr = vectors ? lda : 1;
    geev("N", job, &n, a, &lda, re.data(), im.data(), &none, &one, right.data(), &ldvr, &size, &query, &info,
         1, 1);
    std::vector<T> work = workspace(size);
    const int work_size = size_of(work);
    geev("N", job, &n, a, &lda, re.data(), im.data(), &none, &one, right.data(), &ldvr, work.data(),
         &work_size, &info, 1, 1);
    const auto order = static_cast<size_t>(n);
    for (size_t j = 0; j < order; ++j) values[j] = {re[j], im[j]};
    // Of a conjugate pair, two columns hold the real and the imaginary part of the first vector.
    for (size_t j = 0; vectors && j < order; ++j) {
      const bool pair = im[j] != 0 && j + 1 < order;
      for (size_t i = 0; i < order; ++i) {
        const T x = right[j * order + i], y = pair ? right[(j + 1) * order + i] : T(0);
        vectors[j * order + i] = {x, y};
        if (pair) vectors[(j + 1) * order + i] = {x, -y};
      }
      if (pair) ++j;
    }
  }
  return info;
}

template <class T>
int Lapack<T>::singular_values(char job, int m, int n, T* a, Real* values, T* u, T* vt) {
  const int lda = leading(m), query = -1, least = std::min(m, n), most = std::max(m, n);
  const int ldu = job == 'N' ? 1 : lda, ldvt = leading(job == 'N' ? 1 : job == 'A' ? n : least);
  int info = 0;
  T size{};
  std::vector<int> whole = integers(8 * least);
  if constexpr (kIsComplex<T>) {
    using F = void(const char*, const int*, const int*, T*, const int*, Real*, T*, const int*, T*, const int*,
                   T*, const int*, Real*, int*, int*, size_t);
    static F* const gesdd = routine<F, T>({"", "", "cgesdd_", "zgesdd_"});
    const auto k = static_cast<size_t>(least);
    std::vector<Real> reals(
        1 + (job == 'N' ? 7 * k
                        : std::max(5 * k * k + 7 * k, 2 * static_cast<size_t>(most) * k + 2 * k * k + k)));
    gesdd(&job, &m, &n, a, &lda, values, u, &ldu, vt, &ldvt, &size, &query, reals.data(), whole.data(), &info,
          1);
    std::vector<T> work = workspace(size);
    const int work_size = size_of(work);
    gesdd(&job, &m, &n, a, &lda, values, u, &ldu, vt, &ldvt, work.data(), &work_size, reals.data(),
          whole.data(), &info, 1);
  } else {
    using F = void(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*,
                   T*, const int*, int*, int*, size_t);
    static F* const gesdd = routine<F, T>({"sgesdd_", "dgesdd_", "", ""});
    gesdd(&job, &m, &n, a, &lda, values, u, &ldu, vt, &ldvt, &size, &query, whole.data(), &info, 1);
    std::vector<T> work = workspace(size);
    const int work_size = size_of(work);
    gesdd(&job, &m, &n, a, &lda, values, u, &ldu, vt, &ldvt, work.data(), &work_size, whole.data(), &info, 1);
  }
  return info;
}

template <class T>
int Lapack<T>::least_squares(int m, int n, int num_right, T* a, T* b, Real* singular_values, Real rcond,
                             int* rank) {
  const int lda = leading(m), ldb = leading(std::max(m, n)), query = -1;
  int info = 0, integer_size = 0;
  T size{};
  if constexpr (kIsComplex<T>) {
    using F = void(const int*, const int*, const int*, T*, const int*, T*, const int*, Real*, const Real*,
                   int*, T*, const int*, Real*, int*, int*);
    static F* const gelsd = routine<F, T>({"", "", "cgelsd_", "zgelsd_"});
    Real real_size{};
    gelsd(&m, &n, &num_right, a, &lda, b, &ldb, singular_values, &rcond, rank, &size, &query, &real_size,
          &integer_size, &info);
    std::vector<T> work = workspace(size);
    std::vector<Real> reals = workspace(real_size);
    std::vector<int> whole = integers(integer_size);
    const int work_size = size_of(work);
    gelsd(&m, &n, &num_right, a, &lda, b, &ldb, singular_values, &rcond, rank, work.data(), &work_size,
          reals.data(), whole.data(), &info);
  } else {
    using F = void(const int*, const int*, const int*, T*, const int*, T*, const int*, T*, const T*, int*, T*,
                   const int*, int*, int*);
    static F* const gelsd = routine<F, T>({"sgelsd_", "dgelsd_", "", ""});
    gelsd(&m, &n, &num_right, a, &lda, b, &ldb, singular_values, &rcond, rank, &size, &query, &integer_size,
          &info);
    std::vector<T> work = workspace(size);
    std::vector<int> whole = integers(integer_size);
    const int work_size = size_of(work);
    gelsd(&m, &n, &num_right, a, &lda, b, &ldb, singular_values, &rcond, rank, work.data(), &work_size,
          whole.data(), &info);
  }
  return info;
}

template struct Lapack<float>;
template struct Lapack<double>;
template struct Lapack<std::complex<float>>;
template struct Lapack<std::complex<double>>;

}  // namespace weft::kernels
