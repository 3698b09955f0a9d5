// AMX: the loops of int8_tiles.inc with the processor's tiles, and packing for them.
#include "kernels/cpu/int8_kernels.h"

#if defined(__AMX_TILE__) && defined(__AMX_INT8__)
#include "kernels/cpu/amx_tiles.inc"
#include "kernels/cpu/int8_tiles.inc"
#include "kernels/cpu/transpose_words_avx512.inc"

namespace weft::kernels {
namespace {

struct Int8Tiles : AmxRegisters {
  template <int kSums, int kA, int kB>
  static void multiply() {
    static_assert(kSums == (kA - 4) * 2 + kB - 6);
    if constexpr (kSums == 0) _tile_dpbssd(0, 4, 6);
    if constexpr (kSums == 1) _tile_dpbssd(1, 4, 7);
    if constexpr (kSums == 2) _tile_dpbssd(2, 5, 6);
    if constexpr (kSums == 3) _tile_dpbssd(3, 5, 7);
  }
};

constexpr int64_t kTogether = 4, kPanelRow = kInt8Columns * kTogether;

// A mask of the first `count` bytes, 64 at most.
inline __attribute__((always_inline)) __mmask64 first_bytes(int64_t count) {
  return count >= 64 ? ~__mmask64{0} : count <= 0 ? 0 : (__mmask64{1} << count) - 1;
}

// Sixteen columns and 64 numbers of each at a time.
void pack_columns_panel(const PackInt8Args& args, const int8_t* b, int64_t columns, int8_t* panel) {
  for (int64_t k = 0; k < args.padded_depth; k += 64) {
    const int64_t fours = args.padded_depth - k < 64 ? (args.padded_depth - k) / kTogether : 16;
    const __mmask64 mask = first_bytes(args.depth - k);
    for (int64_t half = 0; half < 2; ++half) {
      __m512i rows[16];
#pragma GCC unroll 16
      for (int64_t j = 0; j < 16; ++j) {
        const int64_t column = 16 * half + j;
        rows[j] = column < columns ? _mm512_maskz_loadu_epi8(mask, b + column * args.stride + k)
                                   : _mm512_setzero_si512();
      }
      transpose_words(rows);
      int8_t* const to = panel + k / kTogether * kPanelRow + 64 * half;
      for (int64_t i = 0; i < fours; ++i) _mm512_storeu_si512(to + i * kPanelRow, rows[i]);
    }
  }
}

void pack_columns(const PackInt8Args& args) {
  int8_t* to = args.panels;
  for (int64_t first = 0; first < args.columns; first += kInt8Columns, to += args.panel_stride)
    pack_columns_panel(args, args.b + first * args.stride, args.columns - first, to);
}

// Four rows of 32 numbers: of each column the four.
void pack_rows(const PackInt8Args& args) {
  const auto row_of = [&](int64_t k, const int8_t* from, __mmask32 mask) {
    return k < args.depth ? _mm256_maskz_loadu_epi8(mask, from + k * args.stride) : _mm256_setzero_si256();
  };
  for (int64_t k = 0; k < args.padded_depth; k += kTogether) {
    int8_t* to = args.panels + k / kTogether * kPanelRow;
    for (int64_t first = 0; first < args.columns; first += kInt8Columns, to += args.panel_stride) {
      const int8_t* const from = args.b + first;
      const auto mask = static_cast<__mmask32>(first_bytes(args.columns - first));
      const __m256i a = row_of(k, from, mask), b = row_of(k + 1, from, mask), c = row_of(k + 2, from, mask),
                    d = row_of(k + 3, from, mask);
      // Of each half of 16 columns: 0 to 7, 8 to 15, in pairs, then in fours.
      const __m256i ab_low = _mm256_unpacklo_epi8(a, b), ab_high = _mm256_unpackhi_epi8(a, b),
                    cd_low = _mm256_unpacklo_epi8(c, d), cd_high = _mm256_unpackhi_epi8(c, d);
      const __m256i columns[4] = {
          _mm256_unpacklo_epi16(ab_low, cd_low), _mm256_unpackhi_epi16(ab_low, cd_low),
          _mm256_unpacklo_epi16(ab_high, cd_high), _mm256_unpackhi_epi16(ab_high, cd_high)};
      for (int64_t i = 0; i < 4; ++i) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16 * i), _mm256_castsi256_si128(columns[i]));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 64 + 16 * i),
                         _mm256_extracti128_si256(columns[i], 1));
      }
    }
  }
}

}  // namespace

extern const Int8Kernels kInt8Amx;
const Int8Kernels kInt8Amx = {.name = "amxint8",
                              .max_rows = 2 * kTileRows,
                              .together = kTogether,
                              .depth_unit = kTileBytes,
                              .inputs = Int8Inputs::Signed,
                              .multiply = Int8TileProduct<Int8Tiles>::multiply,
                              .pack_rows = pack_rows,
                              .pack_columns = pack_columns};

}  // namespace weft::kernels
#endif
