// Products with 2:4 sparse weights: of every four elements of a row two are kept.
#pragma once

#include <cstdint>

namespace weft::kernels {

// values: [n, k / 2], the kept elements of each row in order, of float32 or, `half_bytes`, bfloat16 as bits.
// lanes: [n, k / 8], a bit per element of the row, two of each four set, the first in the lowest. k is a
// multiple of 8.
struct SparseWeight {
  const void* values;
  const uint8_t* lanes;
  int64_t n, k;
  bool is_bfloat16;
};

// Does a level of this machine spread values over lanes (AVX2, AVX-512)? Where none does, dense products are
// faster.
bool has_sparse_products();

// out[m, n] = x[m, k] weight^T (+ bias[n]) on all threads; x, bias and out are contiguous float32. Sums are
// in float32, in an order that does not depend on the number of threads or rows.
void sparse_product(int64_t m, const float* x, const SparseWeight& weight, const float* bias, float* out);

// dense[n, k], with zeros where nothing is kept, of the values' dtype, which has so many bytes.
void expand_sparse(const SparseWeight& weight, int64_t size, void* dense);

namespace detail {
// Rows of the weight [begin, end) for all m rows of x.
using SparseRows = void (*)(int64_t m, const float* x, const SparseWeight& weight, const float* bias,
                            float* out, int64_t begin, int64_t end);
void sparse_rows_baseline(int64_t m, const float* x, const SparseWeight& weight, const float* bias,
                          float* out, int64_t begin, int64_t end);
}  // namespace detail

}  // namespace weft::kernels
