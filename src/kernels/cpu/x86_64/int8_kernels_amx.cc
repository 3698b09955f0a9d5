// AMX: the loops of int8_tiles.inc with the processor's tiles.
#include "kernels/cpu/x86_64/kernels.h"

#if defined(__AMX_TILE__) && defined(__AMX_INT8__)
#include "kernels/cpu/int8_tiles.inc"
#include "kernels/cpu/x86_64/amx_tiles.inc"
#include "kernels/cpu/x86_64/int8_pack_avx512.inc"

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

}  // namespace

const Int8Kernels kInt8Amx = {.name = "amxint8",
                              .max_rows = 2 * kTileRows,
                              .together = kTogether,
                              .depth_unit = kTileBytes,
                              .inputs = Int8Inputs::Signed,
                              .multiply = Int8TileProduct<Int8Tiles>::multiply,
                              .pack_rows = pack_rows,
                              .pack_columns = pack_columns,
                              .start_sums = nullptr,
                              .dots = dots_int8_avx512vnni};

}  // namespace weft::kernels
#endif
