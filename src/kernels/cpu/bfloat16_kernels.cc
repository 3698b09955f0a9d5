#include "kernels/cpu/bfloat16_kernels.h"

#include <string_view>

#include "runtime/matrix_engines.h"

namespace weft::kernels {
namespace {

#if defined(__x86_64__)
BFloat16Kernels with_tiles() {
  BFloat16Kernels kernels = kBFloat16Avx512;
  kernels.name = "amx-bf16";
  kernels.max_rows = 32, kernels.depth_unit = 32;
  kernels.has_tiles = true, kernels.takes_odd_depth = false;
  kernels.hold = hold_amx, kernels.release = release_amx;
  kernels.multiply = multiply_amx;
  return kernels;
}
#endif

const BFloat16Kernels* select_bfloat16() {
  // An engine is worth its packing from so much on. Where AVX512-BF16 runs at half of float32's rate it is
  // far below, elsewhere near 2.
  constexpr double kLeastSpeedup = 1.25;
  const double vectors = runtime::matrix_engine_speedup("avx512-bf16"),
               tiles = runtime::matrix_engine_speedup("amx-bf16");
  if (tiles > kLeastSpeedup && tiles > vectors) return bfloat16_kernels_of("amx-bf16");
  return vectors > kLeastSpeedup ? bfloat16_kernels_of("avx512-bf16") : nullptr;
}

}  // namespace

const BFloat16Kernels* bfloat16_kernels() {
  static const BFloat16Kernels* const kernels = select_bfloat16();
  return kernels;
}

const BFloat16Kernels* bfloat16_kernels_of([[maybe_unused]] const char* engine) {
#if defined(__x86_64__)
  if (!runtime::has_matrix_engine(engine)) return nullptr;
  if (std::string_view(engine) == kBFloat16Avx512.name) return &kBFloat16Avx512;
  static const BFloat16Kernels tiles = with_tiles();
  if (std::string_view(engine) == tiles.name) return &tiles;
#endif
  return nullptr;
}

}  // namespace weft::kernels
