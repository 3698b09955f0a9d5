// Sixteen elements of a row at a time: eight values are spread over the lanes that a mask names.
#include "kernels/cpu/x86_64/kernels.h"

#if defined(__AVX512F__)
#include <immintrin.h>

#include <cstring>

namespace weft::kernels::detail {
namespace {

template <bool IsBFloat16>
__m512 spread(const void* values, int64_t at, __mmask16 lanes, int count) {
  if constexpr (IsBFloat16) {
    const auto* const from = static_cast<const uint16_t*>(values) + at;
    __m128i bits;
    if (count == 8) {
      bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    } else {
      bits = _mm_setzero_si128();
      std::memcpy(&bits, from, static_cast<size_t>(count) * 2);
    }
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
    return _mm512_maskz_expand_ps(lanes, _mm512_castsi512_ps(_mm512_zextsi256_si512(wide)));
  } else {
    const auto some = static_cast<__mmask8>((1U << count) - 1);
    const __m256 kept = _mm256_maskz_loadu_ps(some, static_cast<const float*>(values) + at);
    return _mm512_maskz_expand_ps(lanes, _mm512_castps256_ps512(kept));
  }
}

// `Weights` rows of the weight from `row` on, times `Rows` rows of x: what is loaded of one is used for all
// of the other.
template <bool IsBFloat16, int Weights, int Rows>
void some_products(const float* x, const SparseWeight& weight, const float* bias, float* out, int64_t row) {
  const int64_t k = weight.k, whole = k / 16 * 16;
  __m512 sums[Weights][Rows];
  for (int w = 0; w < Weights; ++w)
    for (int i = 0; i < Rows; ++i) sums[w][i] = _mm512_setzero_ps();
  const auto add = [&](int64_t first, __mmask16 some, int count) __attribute__((always_inline)) {
    __m512 inputs[Rows];
    for (int i = 0; i < Rows; ++i) inputs[i] = _mm512_maskz_loadu_ps(some, x + i * k + first);
    for (int w = 0; w < Weights; ++w) {
      uint16_t lanes = 0;
      std::memcpy(&lanes, weight.lanes + ((row + w) * k + first) / 8, count == 8 ? 2 : 1);
      const __m512 values = spread<IsBFloat16>(weight.values, ((row + w) * k + first) / 2, lanes, count);
      for (int i = 0; i < Rows; ++i) sums[w][i] = _mm512_fmadd_ps(inputs[i], values, sums[w][i]);
    }
  };
  for (int64_t first = 0; first < whole; first += 16) add(first, 0xffff, 8);
  if (whole < k) add(whole, 0xff, 4);
  for (int w = 0; w < Weights; ++w)
    for (int i = 0; i < Rows; ++i)
      out[i * weight.n + row + w] = _mm512_reduce_add_ps(sums[w][i]) + (bias ? bias[row + w] : 0);
}

constexpr int kWeights = 4;  // rows of them at once
#include "kernels/cpu/sparse_rows.inc"

}  // namespace

void sparse_rows_avx512(int64_t m, const float* x, const SparseWeight& weight, const float* bias, float* out,
                        int64_t begin, int64_t end) {
  if (weight.is_bfloat16)
    all_rows<true>(m, x, weight, bias, out, begin, end);
  else
    all_rows<false>(m, x, weight, bias, out, begin, end);
}

}  // namespace weft::kernels::detail
#endif
