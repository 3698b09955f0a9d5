// AMX: the loops of bfloat16_tiles.inc with the processor's tiles.
#include "kernels/cpu/x86_64/kernels.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
#include "kernels/cpu/bfloat16_tiles.inc"
#include "kernels/cpu/x86_64/amx_tiles.inc"

namespace weft::kernels {
namespace {

struct AmxTiles : AmxRegisters {
  template <int kSums, int kA, int kB>
  static void multiply() {
    static_assert(kSums == (kA - 4) * 2 + kB - 6);
    if constexpr (kSums == 0) _tile_dpbf16ps(0, 4, 6);
    if constexpr (kSums == 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kSums == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kSums == 3) _tile_dpbf16ps(3, 5, 7);
  }

  static void finish_row(const float* sums, const float* start, int64_t columns, uint16_t* y) {
    __m512 low = _mm512_load_ps(sums), high = _mm512_load_ps(sums + 16);
    if (start) {
      low += _mm512_loadu_ps(start);
      high += _mm512_loadu_ps(start + 16);
    }
    const __mmask32 mask = columns >= 32 ? ~__mmask32{0} : (__mmask32{1} << columns) - 1;
    _mm512_mask_storeu_epi16(y, mask, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
  }
};

}  // namespace

void multiply_amx(const PairTile& tile) { TileProduct<AmxTiles>::multiply(tile); }
void hold_amx() { AmxTiles::hold(); }
void release_amx() { AmxTiles::give_up(); }

}  // namespace weft::kernels
#endif
