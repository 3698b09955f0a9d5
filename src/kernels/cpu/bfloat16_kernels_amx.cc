// AMX: the loops of bfloat16_tiles.inc with the processor's tiles.
#include "kernels/cpu/bfloat16_kernels.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
#include <immintrin.h>

#include "kernels/cpu/bfloat16_tiles.inc"

namespace weft::kernels {
namespace {

// The intrinsics take a register's number as text.
#define WEFT_WITH_TILE(REGISTER, CALL)  \
  if constexpr (REGISTER == 0) CALL(0); \
  if constexpr (REGISTER == 1) CALL(1); \
  if constexpr (REGISTER == 2) CALL(2); \
  if constexpr (REGISTER == 3) CALL(3); \
  if constexpr (REGISTER == 4) CALL(4); \
  if constexpr (REGISTER == 5) CALL(5); \
  if constexpr (REGISTER == 6) CALL(6); \
  if constexpr (REGISTER == 7) CALL(7)

struct alignas(64) TileConfig {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

struct AmxTiles {
  static void configure(int64_t upper, int64_t lower) {
    TileConfig config{.palette = 1, .start_row = 0, .reserved = {}, .row_bytes = {}, .rows = {}};
    const auto up = static_cast<uint8_t>(upper), low = static_cast<uint8_t>(lower);
    const uint8_t rows[8] = {up, up, low, low, up, low, 16, 16};
    for (int i = 0; i < 8; ++i) config.rows[i] = rows[i], config.row_bytes[i] = rows[i] > 0 ? 64 : 0;
    __asm__ volatile("" : : "r"(&config) : "memory");  // g++ 12 believes that eight bytes of it are read
    _tile_loadconfig(&config);
  }
  static void release() { _tile_release(); }

  template <int kRegister>
  static void zero() {
    WEFT_WITH_TILE(kRegister, _tile_zero);
  }
  template <int kRegister>
  static void load(const void* from, int64_t stride) {
#define WEFT_LOAD(REGISTER) _tile_loadd(REGISTER, from, stride)
    WEFT_WITH_TILE(kRegister, WEFT_LOAD);
#undef WEFT_LOAD
  }
  template <int kRegister>
  static void store(void* to, int64_t stride) {
#define WEFT_STORE(REGISTER) _tile_stored(REGISTER, to, stride)
    WEFT_WITH_TILE(kRegister, WEFT_STORE);
#undef WEFT_STORE
  }
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

}  // namespace weft::kernels
#endif
