// Eight elements of a row at a time: four values are spread over the lanes that a byte names.
#include "kernels/cpu/x86_64/kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>

namespace weft::kernels::detail {
namespace {

// Of each byte of lanes, which of four values stands in each lane; the fifth is zero.
struct Places {
  int32_t of[256][8];
};
constexpr Places kPlaces = [] {
  Places places{};
  for (int byte = 0; byte < 256; ++byte) {
    int32_t at = 0;
    for (int lane = 0; lane < 8; ++lane) places.of[byte][lane] = (byte >> lane & 1) != 0 && at < 4 ? at++ : 4;
  }
  return places;
}();

template <bool IsBFloat16>
__m256 spread(const void* values, int64_t at, uint8_t lanes) {
  __m128 four;
  if constexpr (IsBFloat16) {
    const __m128i bits =
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(static_cast<const uint16_t*>(values) + at));
    four = _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(bits), 16));
  } else {
    four = _mm_loadu_ps(static_cast<const float*>(values) + at);
  }
  const __m256i places = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kPlaces.of[lanes]));
  return _mm256_permutevar8x32_ps(_mm256_zextps128_ps256(four), places);
}

float total(__m256 sums) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// `Weights` rows of the weight from `row` on, times `Rows` rows of x: what is loaded of one is used for all
// of the other.
template <bool IsBFloat16, int Weights, int Rows>
void some_products(const float* x, const SparseWeight& weight, const float* bias, float* out, int64_t row) {
  const int64_t k = weight.k;
  __m256 sums[Weights][Rows];
  for (int w = 0; w < Weights; ++w)
    for (int i = 0; i < Rows; ++i) sums[w][i] = _mm256_setzero_ps();
  for (int64_t first = 0; first < k; first += 8) {
    __m256 inputs[Rows];
    for (int i = 0; i < Rows; ++i) inputs[i] = _mm256_loadu_ps(x + i * k + first);
    for (int w = 0; w < Weights; ++w) {
      const int64_t at = (row + w) * k + first;
      const __m256 values = spread<IsBFloat16>(weight.values, at / 2, weight.lanes[at / 8]);
      for (int i = 0; i < Rows; ++i) sums[w][i] = _mm256_fmadd_ps(inputs[i], values, sums[w][i]);
    }
  }
  for (int w = 0; w < Weights; ++w)
    for (int i = 0; i < Rows; ++i)
      out[i * weight.n + row + w] = total(sums[w][i]) + (bias ? bias[row + w] : 0);
}

constexpr int kWeights = 2;  // rows of them at once
#include "kernels/cpu/sparse_rows.inc"

}  // namespace

void sparse_rows_avx2(int64_t m, const float* x, const SparseWeight& weight, const float* bias, float* out,
                      int64_t begin, int64_t end) {
  if (weight.is_bfloat16)
    all_rows<true>(m, x, weight, bias, out, begin, end);
  else
    all_rows<false>(m, x, weight, bias, out, begin, end);
}

}  // namespace weft::kernels::detail
#endif
