// AVX512-BF16: vdpbf16ps adds two products to a float32 sum, the pair's second one first, each fused and
// rounded to nearest; denormals count as zero, in what comes in and what goes out.
#include "kernels/cpu/x86_64/kernels.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>

#include "kernels/cpu/x86_64/bfloat16_expand_avx512.inc"
namespace weft::kernels {
namespace {

constexpr int kMaxRows = 12;

// kVectors: 1 for a panel whose second half has no columns.
template <int kRows, int kVectors>
void multiply_panel(const PairTile& tile, const uint16_t* weights, int64_t index) {
  __m512 sums[kRows][kVectors];
  const int64_t at = index * tile.sums_step;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      sums[i][v] = tile.before ? _mm512_loadu_ps(tile.before + i * tile.sums_stride + at + 16 * v)
                               : _mm512_setzero_ps();
  }
  const uint16_t* x[kRows];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) x[i] = tile.a + i * tile.a_stride;
  const auto add = [&](int64_t k, auto splat) __attribute__((always_inline)) {
    __m512bh right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      right[v] = load_pairs(weights + 32 * v);
      _mm_prefetch(weights + 1024 + 32 * v, _MM_HINT_T0);
    }
    weights += 2 * kPairColumns;
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const __m512bh pair = splat(x[i] + k);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[i][v] = _mm512_dpbf16_ps(sums[i][v], right[v], pair);
    }
  };
  const int64_t even = tile.depth / 2 * 2;
#pragma GCC unroll 4
  for (int64_t k = 0; k < even; k += 2) add(k, [](const uint16_t* from) { return splat_pair(from); });
  if (even < tile.depth) add(even, [](const uint16_t* from) { return splat_one(*from); });
  if (tile.start) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const __m512 start = _mm512_loadu_ps(tile.start + index * kPairColumns + 16 * v);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) sums[i][v] += start;
    }
  }
  uint16_t* const y = tile.y ? tile.y + index * kPairColumns : nullptr;
  const __mmask32 mask = first_lanes(tile.columns - index * kPairColumns);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    if (y) {
      store_rounded(y + i * tile.y_stride, mask, sums[i][0], sums[i][kVectors - 1]);
      continue;
    }
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      _mm512_storeu_ps(tile.sums + i * tile.sums_stride + at + 16 * v, sums[i][v]);
  }
}

using PanelFn = void (*)(const PairTile&, const uint16_t*, int64_t);
template <int kVectors>
constexpr PanelFn kPanels[kMaxRows + 1] = {nullptr,
                                           multiply_panel<1, kVectors>,
                                           multiply_panel<2, kVectors>,
                                           multiply_panel<3, kVectors>,
                                           multiply_panel<4, kVectors>,
                                           multiply_panel<5, kVectors>,
                                           multiply_panel<6, kVectors>,
                                           multiply_panel<7, kVectors>,
                                           multiply_panel<8, kVectors>,
                                           multiply_panel<9, kVectors>,
                                           multiply_panel<10, kVectors>,
                                           multiply_panel<11, kVectors>,
                                           multiply_panel<12, kVectors>};

void multiply(const PairTile& tile) {
  for (int64_t index = 0; index < tile.num_panels; ++index) {
    const bool half = tile.columns - index * kPairColumns <= 16;
    (half ? kPanels<1> : kPanels<2>)[tile.rows](tile, tile.panels + index * tile.panel_stride, index);
  }
}

// ---- inner products --------------------------------------------------------------------------------------

template <int kRows, int kColumns>
inline __attribute__((always_inline)) void dots_block(const DotsArgs& args, int64_t row, int64_t column) {
  __m512 sums[kRows][kColumns];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) sums[i][j] = _mm512_setzero_ps();
  }
  const uint16_t* const a = args.a + row * args.a_stride;
  const uint16_t* const b = args.b + column * args.b_stride;
  const auto add = [&](int64_t k, auto load) __attribute__((always_inline)) {
    __m512bh right[kColumns];
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) right[j] = load(b + j * args.b_stride + k);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const __m512bh left = load(a + i * args.a_stride + k);
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) sums[i][j] = _mm512_dpbf16_ps(sums[i][j], left, right[j]);
    }
  };
  int64_t k = 0;
  for (; k + 32 <= args.depth; k += 32) add(k, [](const uint16_t* from) { return load_pairs(from); });
  if (k < args.depth) {
    const __mmask32 mask = first_lanes(args.depth - k);
    add(k, [mask](const uint16_t* from) { return load_some(from, mask); });
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      float sum = _mm512_reduce_add_ps(sums[i][j]);
      if (args.start) sum += args.start[column + j];
      args.y[(row + i) * args.y_stride + column + j] = round_one(sum);
    }
  }
}

template <int kColumns>
inline __attribute__((always_inline)) void dots_columns(const DotsArgs& args, int64_t column) {
  int64_t i = 0;
  for (; i + 4 <= args.rows; i += 4) dots_block<4, kColumns>(args, i, column);
  switch (args.rows - i) {
    case 3: return dots_block<3, kColumns>(args, i, column);
    case 2: return dots_block<2, kColumns>(args, i, column);
    case 1: return dots_block<1, kColumns>(args, i, column);
    default: return;
  }
}

void dots(const DotsArgs& args) {
  int64_t j = 0;
  if (args.rows == 1)
    for (; j + 8 <= args.columns; j += 8) dots_block<1, 8>(args, 0, j);
  for (; j + 4 <= args.columns; j += 4) dots_columns<4>(args, j);
  for (; j < args.columns; ++j) dots_columns<1>(args, j);
}

// ---- combinations of rows --------------------------------------------------------------------------------

// sums[rows][columns] += products of kPairs pairs of x's numbers with as many pairs of b's rows; where kOdd,
// the one pair has no second row.
template <int kRows, int kPairs, bool kOdd>
inline __attribute__((always_inline)) void add_pairs(const CombineArgs& args, int64_t row, int64_t k) {
  const Interleave interleave;
  const uint16_t* const x = args.a + row * args.a_stride + k;
  const uint16_t* const b = args.b + k * args.b_stride;
  __m512bh pairs[kRows][kPairs];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p)
      pairs[i][p] = kOdd ? splat_one(x[i * args.a_stride]) : splat_pair(x + i * args.a_stride + 2 * p);
  }
  const auto add = [&](int64_t j, __mmask32 mask) __attribute__((always_inline)) {
    float* const sums = args.sums + row * args.sums_stride + j;
    __m512 low[kRows], high[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      low[i] = _mm512_loadu_ps(sums + i * args.sums_stride);
      high[i] = _mm512_loadu_ps(sums + i * args.sums_stride + 16);
    }
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p) {
      const __m512i first = _mm512_maskz_loadu_epi16(mask, b + 2 * p * args.b_stride + j),
                    second = kOdd ? _mm512_setzero_si512()
                                  : _mm512_maskz_loadu_epi16(mask, b + (2 * p + 1) * args.b_stride + j);
      const __m512bh left = interleave.low(first, second), right = interleave.high(first, second);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        low[i] = _mm512_dpbf16_ps(low[i], left, pairs[i][p]);
        high[i] = _mm512_dpbf16_ps(high[i], right, pairs[i][p]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      _mm512_storeu_ps(sums + i * args.sums_stride, low[i]);
      _mm512_storeu_ps(sums + i * args.sums_stride + 16, high[i]);
    }
  };
  int64_t j = 0;
  for (; j + 32 <= args.columns; j += 32) add(j, ~__mmask32{0});
  if (j < args.columns) add(j, first_lanes(args.columns - j));
}

template <int kPairs, bool kOdd>
void add_pairs_to_all(const CombineArgs& args, int64_t k) {
  int64_t i = 0;
  for (; i + 4 <= args.rows; i += 4) add_pairs<4, kPairs, kOdd>(args, i, k);
  switch (args.rows - i) {
    case 3: return add_pairs<3, kPairs, kOdd>(args, i, k);
    case 2: return add_pairs<2, kPairs, kOdd>(args, i, k);
    case 1: return add_pairs<1, kPairs, kOdd>(args, i, k);
    default: return;
  }
}

void combine(const CombineArgs& args) {
  for (int64_t i = 0; i < args.rows; ++i)
    for (int64_t j = 0; j < args.columns; j += 16)
      _mm512_storeu_ps(args.sums + i * args.sums_stride + j, _mm512_setzero_ps());
  int64_t k = 0;
  for (; k + 8 <= args.depth; k += 8) add_pairs_to_all<4, false>(args, k);
  for (; k + 2 <= args.depth; k += 2) add_pairs_to_all<1, false>(args, k);
  if (k < args.depth) add_pairs_to_all<1, true>(args, k);
  for (int64_t i = 0; i < args.rows; ++i) {
    const float* const sums = args.sums + i * args.sums_stride;
    for (int64_t j = 0; j < args.columns; j += 32) {
      const __mmask32 mask = first_lanes(args.columns - j);
      __m512 low = _mm512_loadu_ps(sums + j), high = _mm512_loadu_ps(sums + j + 16);
      if (args.start) {
        low += _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), args.start + j);
        high += _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), args.start + j + 16);
      }
      store_rounded(args.y + i * args.y_stride + j, mask, low, high);
    }
  }
}

void finish_turned(const TurnedSums& args) {
  const __mmask32 mask = first_lanes(args.rows);
  __m512 start[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  if (args.start) {
    start[0] = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), args.start);
    start[1] = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), args.start + 16);
  }
  for (int64_t first = 0; first < args.columns; first += 16) {
    const float* const from = args.sums + first;
    __m512i low[16], high[16];
#pragma GCC unroll 16
    for (int64_t i = 0; i < 16; ++i) {
      low[i] = _mm512_loadu_si512(from + i * args.sums_stride);
      high[i] = _mm512_loadu_si512(from + (i + 16) * args.sums_stride);
    }
    transpose_words(low);
    transpose_words(high);
    const int64_t count = args.columns - first < 16 ? args.columns - first : 16;
    for (int64_t j = 0; j < count; ++j)
      store_rounded(args.y + (first + j) * args.y_stride, mask, reinterpret_cast<__m512>(low[j]) + start[0],
                    reinterpret_cast<__m512>(high[j]) + start[1]);
  }
}

void round_numbers(const float* x, int64_t count, uint16_t* to) {
  for (int64_t i = 0; i < count; i += 32) {
    const __mmask32 mask = first_lanes(count - i);
    store_rounded(to + i, mask, _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), x + i),
                  _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), x + i + 16));
  }
}

// Where rounding gives an infinity for a number that is none, it is cut: what is left stays a number.
void split_numbers(const float* x, int64_t count, uint16_t* high, uint16_t* low) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int32_t>(0xffff0000u)),
                exponent = _mm512_set1_epi32(0x7f800000);
  for (int64_t i = 0; i < count; i += 16) {
    const auto mask = static_cast<__mmask16>(first_lanes(count - i));
    const __m512 value = _mm512_maskz_loadu_ps(mask, x + i);
    const __m512i bits = reinterpret_cast<__m512i>(value);
    __m512i rounded = _mm512_slli_epi32(
        _mm512_maskz_cvtepu16_epi32(__mmask16{0xffff}, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value))),
        16);
    const __mmask16 no_number = _mm512_cmpeq_epi32_mask(_mm512_and_si512(bits, exponent), exponent),
                    too_large = _mm512_cmpeq_epi32_mask(_mm512_and_si512(rounded, exponent), exponent) &
                                static_cast<__mmask16>(~no_number);
    rounded = _mm512_mask_and_epi32(rounded, too_large, bits, upper);
    const __m512 rest =
        _mm512_maskz_sub_ps(static_cast<__mmask16>(~no_number), value, reinterpret_cast<__m512>(rounded));
    _mm256_mask_storeu_epi16(high + i, mask,
                             _mm512_maskz_cvtepi32_epi16(mask, _mm512_srli_epi32(rounded, 16)));
    _mm256_mask_storeu_epi16(low + i, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(rest)));
  }
}

}  // namespace

const BFloat16Kernels kBFloat16Avx512 = {.name = "avx512-bf16",
                                         .max_rows = kMaxRows,
                                         .depth_unit = 2,
                                         .has_tiles = false,
                                         .takes_odd_depth = true,
                                         .hold = nullptr,
                                         .release = nullptr,
                                         .multiply = multiply,
                                         .dots = dots,
                                         .combine = combine,
                                         .pack_rows = pack_rows,
                                         .pack_columns = pack_columns,
                                         .expand_int8 = expand_int8,
                                         .expand_int4 = expand_int4,
                                         .round = round_numbers,
                                         .split = split_numbers,
                                         .finish_turned = finish_turned};

}  // namespace weft::kernels
#endif
