// What the tiles of AMX reach: four tiles of sums, as many as the kernels have.
#include "runtime/x86_64/ceiling_loops_amx.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__)
#include <immintrin.h>

namespace weft::runtime {
namespace {

struct alignas(64) TileConfig {
  unsigned char palette = 1, start_row = 0, reserved[14] = {};
  unsigned short row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  unsigned char rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// g++ 12 believes that loading a configuration reads eight bytes of it: it would not store the others.
void load(const TileConfig& config) {
  __asm__ volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}

constexpr double kProducts = 4.0 * 16 * 16 * 16;  // of 32-bit lanes, in four instructions

}  // namespace

double tiles_bfloat16_amx(int64_t iterations) {
  load(TileConfig());
  for (int64_t i = 0; i < iterations; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return 2 * 2 * kProducts;
}

double tiles_int8_amx(int64_t iterations) {
  load(TileConfig());
  for (int64_t i = 0; i < iterations; ++i) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_release();
  return 2 * 4 * kProducts;
}

}  // namespace weft::runtime
#endif
