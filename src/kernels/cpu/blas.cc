#include "kernels/cpu/blas.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_bfloat16.h"
#include "kernels/cpu/gemm_half.h"
#include "kernels/cpu/levels.h"
#include "runtime/files.h"
#include "runtime/interruption.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// CBLAS's constants, fixed by its interface.
enum Layout { kRowMajor = 101 };
enum Transpose { kNoTranspose = 111, kTranspose = 112 };
enum Triangle { kUpper = 121 };

class Blas {
 public:
  static Blas& instance() {
    static Blas& blas = *new Blas;
    return blas;
  }

  template <class F>
  F* symbol(const char* name) const {
    void* address = dlsym(handle_, name);
    if (address == nullptr && lapack_ != nullptr) address = dlsym(lapack_, name);
    WEFT_ASSERT(address != nullptr, fmt::format("{} lacks '{}'", description_, name));
    return reinterpret_cast<F*>(address);
  }

  const char* description() const { return description_.c_str(); }

 private:
  Blas() {
    // The variable is read when the library loads.
    if (const char* const type = blas_core_type()) setenv("OPENBLAS_CORETYPE", type, 0);
    std::string reasons;
    // A wheel's own comes first.
    const std::string carried =
        (std::filesystem::path(runtime::own_library_path()).parent_path() / "libweft_blas.so").string();
    for (const char* name : {carried.c_str(), "libopenblas.so.0", "libopenblas.so", "libblas.so.3"}) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ && !dlsym(handle_, "cblas_dgemm")) {
        reasons += fmt::format("\n  {}: no cblas_dgemm", name);
        dlclose(handle_);
        handle_ = nullptr;
      } else if (!handle_) {
        reasons += fmt::format("\n  {}", dlerror());
      }
      if (handle_) {
        description_ = name;
        break;
      }
    }
    if (!handle_) {
      throw_error(
          ErrorKind::Runtime,
          "matmul: no BLAS library was found; install OpenBLAS (Debian: libopenblas0-pthread)" + reasons);
    }
    if (auto* config = reinterpret_cast<char* (*)()>(dlsym(handle_, "openblas_get_config")))
      description_ = config();
    // The only threads are parallel_for's, which call BLAS tile by tile.
    if (auto* set_num_threads = reinterpret_cast<void (*)(int)>(dlsym(handle_, "openblas_set_num_threads")))
      set_num_threads(1);
    if (dlsym(handle_, "dgetrf_") == nullptr) lapack_ = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
  }

  void* handle_ = nullptr;
  void* lapack_ = nullptr;  // where BLAS comes without it
  std::string description_;
};

template <class T>
inline constexpr bool kIsBlasType = std::is_same_v<T, double> || std::is_same_v<T, std::complex<float>> ||
                                    std::is_same_v<T, std::complex<double>>;

template <class T>
void call_gemm(int m, int n, int k, Transpose trans_a, const T* a, int lda, Transpose trans_b, const T* b,
               int ldb, T* c, int ldc) {
  Blas& blas = Blas::instance();
  const T one(1), zero(0);
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    using Gemm =
        void(Layout, Transpose, Transpose, int, int, int, T, const T*, int, const T*, int, T, T*, int);
    static Gemm* const gemm = blas.symbol<Gemm>(std::is_same_v<T, double> ? "cblas_dgemm" : "cblas_sgemm");
    gemm(kRowMajor, trans_a, trans_b, m, n, k, one, a, lda, b, ldb, zero, c, ldc);
  } else {
    using Gemm = void(Layout, Transpose, Transpose, int, int, int, const void*, const void*, int, const void*,
                      int, const void*, void*, int);
    static Gemm* const gemm =
        blas.symbol<Gemm>(std::is_same_v<T, std::complex<float>> ? "cblas_cgemm" : "cblas_zgemm");
    gemm(kRowMajor, trans_a, trans_b, m, n, k, &one, a, lda, b, ldb, &zero, c, ldc);
  }
}

// BLAS wants one unit stride and a leading dimension that covers a row.
template <class T>
struct BlasOperand {
  Transpose transpose;
  const T* data;
  int leading;
  std::vector<T> copy;

  const T* at(int64_t i, int64_t j) const {
    return data + (transpose == kNoTranspose ? i * leading + j : i + j * leading);
  }

  BlasOperand(MatrixView<T> view, int64_t rows, int64_t columns) {
    if ((view.column_stride == 1 || columns == 1) && (view.row_stride >= columns || rows == 1)) {
      transpose = kNoTranspose, data = view.data;
      leading = static_cast<int>(std::max<int64_t>(rows == 1 ? columns : view.row_stride, 1));
    } else if ((view.row_stride == 1 || rows == 1) && (view.column_stride >= rows || columns == 1)) {
      transpose = kTranspose, data = view.data;
      leading = static_cast<int>(std::max<int64_t>(columns == 1 ? rows : view.column_stride, 1));
    } else {
      copy.resize(static_cast<size_t>(rows * columns));
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          copy[static_cast<size_t>(i * columns + j)] =
              view.data[i * view.row_stride + j * view.column_stride];
      transpose = kNoTranspose, data = copy.data(), leading = static_cast<int>(columns);
    }
  }
};

// Sizes of the tiles that a product is cut into for the threads. BLAS packs both operands again for every
// tile, so there are no more of them than threads need, unless the tiles are of those that it does not pack.
struct Tiles {
  int64_t rows, columns;

  Tiles(int64_t m, int64_t n, int64_t k) : rows(m), columns(n) {
    constexpr int64_t kUnit = 8, kSmallProducts = 1 << 18, kLargest = 1024, kShallow = 32, kUnpacked = 64;
    if (k <= kShallow) {
      rows = std::min(m, kUnpacked), columns = std::min<int64_t>(n, 512);
      return;
    }
    const int64_t threads = in_parallel_region() || m * n * k < 2 * kSmallProducts ? 1 : get_num_threads();
    if (threads == 1) return;
    int64_t& longer = m * 2 >= n ? rows : columns;
    const int64_t pieces = threads * ((longer + threads * kLargest - 1) / (threads * kLargest));
    longer = ((longer + pieces - 1) / pieces + kUnit - 1) / kUnit * kUnit;
  }
};

// One tile of a product, a few tenths of a second at a time: BLAS cannot be interrupted.
template <class T>
void call_in_stripes(int64_t rows, int64_t columns, int64_t k, const BlasOperand<T>& a, int64_t i,
                     const BlasOperand<T>& b, int64_t j, T* c, int64_t stride) {
  constexpr int64_t kMostProducts = int64_t{1} << 32, kUnit = 256;
  const int64_t stripe = std::max(kUnit, kMostProducts / (columns * k) / kUnit * kUnit);
  for (int64_t first = 0; first < rows; first += stripe) {
    runtime::check_interrupt();
    call_gemm<T>(static_cast<int>(std::min(stripe, rows - first)), static_cast<int>(columns),
                 static_cast<int>(k), a.transpose, a.at(i + first, 0), a.leading, b.transpose, b.at(0, j),
                 b.leading, c + first * stride, static_cast<int>(stride));
  }
}

template <class T>
void tiled_gemm(int64_t m, int64_t n, int64_t k, const BlasOperand<T>& a, const BlasOperand<T>& b, T* c) {
  const Tiles tiles(m, n, k);
  const int64_t across = (n + tiles.columns - 1) / tiles.columns, down = (m + tiles.rows - 1) / tiles.rows;
  const int64_t grain = std::max<int64_t>(1, (1 << 18) / (tiles.rows * tiles.columns * k));
  parallel_for(0, across * down, grain, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t i = tile / across * tiles.rows, j = tile % across * tiles.columns;
      call_in_stripes<T>(std::min(tiles.rows, m - i), std::min(tiles.columns, n - j), k, a, i, b, j,
                         c + i * n + j, n);
    }
  });
}

// The upper triangle of c = a @ a.T, the rest of its tiles with it.
void upper_rank_k(int64_t n, int64_t k, const BlasOperand<double>& a, const BlasOperand<double>& b,
                  double* c) {
  using Syrk = void(Layout, Triangle, Transpose, int, int, double, const double*, int, double, double*, int);
  static Syrk* const syrk = Blas::instance().symbol<Syrk>("cblas_dsyrk");
  const int64_t rows = Tiles(n, n, k).rows, blocks = (n + rows - 1) / rows;
  std::vector<std::pair<int64_t, int64_t>> tiles;
  for (int64_t i = 0; i < blocks; ++i)
    for (int64_t j = i; j < blocks; ++j) tiles.emplace_back(i * rows, j * rows);
  parallel_for(0, static_cast<int64_t>(tiles.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      runtime::check_interrupt();
      const auto [i, j] = tiles[static_cast<size_t>(tile)];
      const int height = static_cast<int>(std::min(rows, n - i)),
                width = static_cast<int>(std::min(rows, n - j));
      double* const to = c + i * n + j;
      if (i == j) {
        syrk(kRowMajor, kUpper, a.transpose, height, static_cast<int>(k), 1.0, a.at(i, 0), a.leading, 0.0, to,
             static_cast<int>(n));
      } else {
        call_gemm<double>(height, width, static_cast<int>(k), a.transpose, a.at(i, 0), a.leading, b.transpose,
                          b.at(0, j), b.leading, to, static_cast<int>(n));
      }
    }
  });
}

// The sum of left[i] * right[i]; chunks do not depend on the number of threads, so neither does the result.
double inner_product(int64_t k, const double* left, int64_t left_stride, const double* right,
                     int64_t right_stride) {
  using Dot = double(int, const double*, int, const double*, int);
  static Dot* const dot = Blas::instance().symbol<Dot>("cblas_ddot");
  constexpr int64_t kChunk = 1 << 15;
  const auto chunk = [&](int64_t i) {
    const int64_t begin = i * kChunk;
    return dot(static_cast<int>(std::min(kChunk, k - begin)), left + begin * left_stride,
               static_cast<int>(left_stride), right + begin * right_stride, static_cast<int>(right_stride));
  };
  const int64_t chunks = (k + kChunk - 1) / kChunk;
  if (chunks == 1) return chunk(0);
  std::vector<double> parts(static_cast<size_t>(chunks));
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) parts[static_cast<size_t>(i)] = chunk(i);
  });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// The order of a matrix' blocks in one product after the other: forwards and backwards in turn, within each
// thread's share, so that a product begins with what the one before read last, and what caches have left of
// it is not read again.
class BlockOrder {
 public:
  BlockOrder(const void* matrix, int64_t blocks, int64_t threads)
      : blocks_(blocks), threads_(std::min(threads, blocks)) {
    constexpr size_t kMatrices = 8;
    thread_local std::array<bool, kMatrices> backwards{};
    bool& last = backwards[reinterpret_cast<uintptr_t>(matrix) / 4096 % kMatrices];
    backwards_ = last = !last;
  }
  int64_t operator()(int64_t block) const {
    if (!backwards_) return block;
    // The share of thread t begins at blocks * t / threads, rounded down.
    const int64_t t = ((block + 1) * threads_ - 1) / blocks_;
    return blocks_ * t / threads_ + blocks_ * (t + 1) / threads_ - 1 - block;
  }

 private:
  int64_t blocks_, threads_;
  bool backwards_;
};

// c[m] of a[m, k] and x[k], in blocks of rows.
void matrix_vector_product(int64_t m, int64_t k, const BlasOperand<double>& a, const double* x,
                           int64_t stride, double* c) {
  using Gemv =
      void(Layout, Transpose, int, int, double, const double*, int, const double*, int, double, double*, int);
  static Gemv* const gemv = Blas::instance().symbol<Gemv>("cblas_dgemv");
  // Where a's columns are contiguous, a block is a stripe of each of them: short ones would waste what is
  // read ahead.
  const int64_t threads = in_parallel_region() ? 1 : get_num_threads();
  const int64_t most =
      a.transpose == kTranspose ? std::max<int64_t>(256, ((m + threads - 1) / threads + 63) / 64 * 64) : 64;
  const int64_t blocks = (m + most - 1) / most,
                grain = std::max<int64_t>(1, (1 << 14) / (std::min(most, m) * k));
  const BlockOrder order(a.data, blocks, threads);
  parallel_for(0, blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t i = order(block) * most;
      int rows = static_cast<int>(std::min(most, m - i)), columns = static_cast<int>(k);
      if (a.transpose == kTranspose) std::swap(rows, columns);
      gemv(kRowMajor, a.transpose, rows, columns, 1.0, a.at(i, 0), a.leading, x, static_cast<int>(stride),
           0.0, c + i, 1);
    }
  });
}

bool is_blas_stride(int64_t stride) { return stride >= 1 && stride <= std::numeric_limits<int>::max(); }

// Products with a vector, where BLAS takes it as it lies. False: another way is needed.
bool vector_product(int64_t m, int64_t n, int64_t k, MatrixView<double> a, MatrixView<double> b, double* c) {
  if (m == 1 && n == 1 && is_blas_stride(a.column_stride) && is_blas_stride(b.row_stride)) {
    *c = inner_product(k, a.data, a.column_stride, b.data, b.row_stride);
  } else if (n == 1 && is_blas_stride(b.row_stride)) {
    matrix_vector_product(m, k, BlasOperand<double>(a, m, k), b.data, b.row_stride, c);
  } else if (m == 1 && is_blas_stride(a.column_stride)) {
    const MatrixView<double> transposed{b.data, b.column_stride, b.row_stride};
    matrix_vector_product(n, k, BlasOperand<double>(transposed, n, k), a.data, a.column_stride, c);
  } else {
    return false;
  }
  return true;
}

constexpr int64_t kTinyProducts = 512;

// Where a call of BLAS would take longer than the product; each sum in order, as BLAS makes short ones.
template <int kColumns>
void tiny_rows(int64_t m, int64_t k, MatrixView<double> a, MatrixView<double> b, double* c) {
  for (int64_t i = 0; i < m; ++i, c += kColumns) {
    std::array<double, kColumns> sums{};
    const double *left = a.data + i * a.row_stride, *right = b.data;
    for (int64_t p = 0; p < k; ++p, left += a.column_stride, right += b.row_stride) {
#pragma GCC unroll 8
      for (size_t j = 0; j < kColumns; ++j) {
        const double value = right[static_cast<int64_t>(j) * b.column_stride];
#if defined(__FMA__)
        sums[j] = __builtin_fma(*left, value, sums[j]);
#else
        sums[j] += *left * value;
#endif
      }
    }
#pragma GCC unroll 8
    for (size_t j = 0; j < kColumns; ++j) c[j] = sums[j];
  }
}

using TinyRows = void (*)(int64_t m, int64_t k, MatrixView<double> a, MatrixView<double> b, double* c);
// Null where there are none for so many columns.
TinyRows tiny_rows_of(int64_t n) {
  static constexpr std::array<TinyRows, 9> kRows = {nullptr,       nullptr,       &tiny_rows<2>,
                                                    &tiny_rows<3>, &tiny_rows<4>, &tiny_rows<5>,
                                                    &tiny_rows<6>, &tiny_rows<7>, &tiny_rows<8>};
  return n < static_cast<int64_t>(kRows.size()) ? kRows[static_cast<size_t>(n)] : nullptr;
}

// Types BLAS does not have: rows in parallel, the inner loop along contiguous columns of b.
template <class T>
void plain_product(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c) {
  const int64_t grain = std::max<int64_t>(1, 32 * 1024 / std::max<int64_t>(1, n * k));
  parallel_for(0, m, grain, [&](int64_t begin, int64_t end) {
    std::vector<T> row(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      runtime::check_interrupt();
      std::fill(row.begin(), row.end(), T(0));
      for (int64_t p = 0; p < k; ++p) {
        const T left = a.data[i * a.row_stride + p * a.column_stride];
        const T* right = b.data + p * b.row_stride;
        for (int64_t j = 0; j < n; ++j) {
          const T value = right[j * b.column_stride];
          T& sum = row[static_cast<size_t>(j)];
          if constexpr (std::is_integral_v<T>) {
            // Unsigned arithmetic wraps; signed overflow would be undefined.
            sum = static_cast<T>(static_cast<uint64_t>(sum) +
                                 static_cast<uint64_t>(left) * static_cast<uint64_t>(value));
          } else {
            sum += left * value;
          }
        }
      }
      for (int64_t j = 0; j < n; ++j) c[i * n + j] = row[static_cast<size_t>(j)];
    }
  });
}

void bool_product(int64_t m, int64_t n, int64_t k, MatrixView<bool> a, MatrixView<bool> b, bool* c) {
  std::fill(c, c + m * n, false);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      if (!a.data[i * a.row_stride + p * a.column_stride]) continue;
      for (int64_t j = 0; j < n; ++j) c[i * n + j] |= b.data[p * b.row_stride + j * b.column_stride];
    }
}

}  // namespace

template <class T>
void matrix_product(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c) {
  if (m == 0 || n == 0) return;
  if constexpr (std::is_same_v<T, bool>) {
    bool_product(m, n, k, a, b, c);
  } else if constexpr (std::is_same_v<T, float>) {
    gemm_f32(m, n, k, a, b, c);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      if (const BFloat16Kernels* engine = bfloat16_kernels())
        return gemm_bfloat16(*engine, m, n, k, a, b, nullptr, c);
    }
    gemm_half<T>(m, n, k, a, b, nullptr, c);
  } else if constexpr (kIsBlasType<T>) {
    if (k == 0) {
      std::fill(c, c + m * n, T(0));
      return;
    }
    constexpr int64_t kLargest = int64_t{1} << 31;
    WEFT_CHECK(m < kLargest && n < kLargest && k < kLargest,
               "matmul: a dimension is larger than BLAS can take (2^31 - 1)");
    if constexpr (std::is_same_v<T, double>) {
      if (vector_product(m, n, k, a, b, c)) return;
      if (const TinyRows rows = m * n * k <= kTinyProducts ? tiny_rows_of(n) : nullptr; rows != nullptr)
        return rows(m, k, a, b, c);
    }
    const BlasOperand<T> left(a, m, k), right(b, k, n);
    if constexpr (std::is_same_v<T, double>) {
      if (is_own_transpose(m, n, k, a, b)) {
        upper_rank_k(n, k, left, right, c);
        mirror_upper(n, c);
        return;
      }
    }
    tiled_gemm(m, n, k, left, right, c);
  } else {
    plain_product(m, n, k, a, b, c);
  }
}

#define WEFT_INSTANTIATE(NAME, TYPE) \
  template void matrix_product<TYPE>(int64_t, int64_t, int64_t, MatrixView<TYPE>, MatrixView<TYPE>, TYPE*);
WEFT_FOR_EACH_DTYPE(WEFT_INSTANTIATE)
#undef WEFT_INSTANTIATE

void library_product(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c) {
  tiled_gemm(m, n, k, BlasOperand<float>(a, m, k), BlasOperand<float>(b, k, n), c);
}

void* blas_function(const char* symbol) {
  return reinterpret_cast<void*>(Blas::instance().symbol<void()>(symbol));
}

const char* blas_description() { return Blas::instance().description(); }

}  // namespace weft::kernels
