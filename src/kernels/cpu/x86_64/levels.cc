#include "kernels/cpu/levels.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/x86_64/kernels.h"
#include "runtime/toolchain.h"

extern "C" {
WEFT_FOR_EACH_FILE(WEFT_DECLARE_BUILT, avx2)
WEFT_FOR_EACH_FILE(WEFT_DECLARE_BUILT, avx512)
}

namespace weft::kernels {
namespace {

bool host_has(const char* feature) {
  const auto features = runtime::host_cpu_features();
  return std::find(features.begin(), features.end(), feature) != features.end();
}

BFloat16Kernels with_tiles() {
  BFloat16Kernels kernels = kBFloat16Avx512;
  kernels.name = "amx-bf16";
  kernels.max_rows = 32, kernels.depth_unit = 32;
  kernels.has_tiles = true, kernels.takes_odd_depth = false;
  kernels.hold = hold_amx, kernels.release = release_amx;
  kernels.multiply = multiply_amx;
  return kernels;
}

}  // namespace

std::span<const KernelLevel> kernel_levels() {
  static const auto& levels = *new std::array<KernelLevel, 5>([] {
    const int bytes = runtime::host_vector_bytes();
    const bool avx2 = bytes >= 32 && host_has("fma") && host_has("f16c"), avx512 = bytes >= 64 && avx2;
    return std::array<KernelLevel, 5>{{{.name = "avx512vnni",
                                        .is_usable = avx512 && host_has("avx512vnni"),
                                        .int8 = &kInt8Avx512Vnni,
                                        .quantized = &kQuantizedAvx512Vnni},
                                       {.name = "avx512",
                                        .is_usable = avx512,
                                        .affine = &kAffineAvx512,
                                        .attention = &kAttentionAvx512,
                                        .cached_attention = &kCachedAttentionAvx512,
                                        .fft32 = &kFft32Avx512,
                                        .fft64 = &kFft64Avx512,
                                        .finish_rows = finish_rows_avx512,
                                        .gates = &kGatesAvx512,
                                        .gemm = &kGemmKernelsAvx512,
                                        .int8 = &kInt8Avx512,
                                        .quantized = &kQuantizedAvx512,
                                        .sparse = detail::sparse_rows_avx512},
                                       {.name = "avxvnni",
                                        .is_usable = avx2 && host_has("avxvnni"),
                                        .int8 = &kInt8AvxVnni,
                                        .quantized = &kQuantizedAvxVnni},
                                       {.name = "avx2",
                                        .is_usable = avx2,
                                        .affine = &kAffineAvx2,
                                        .attention = &kAttentionAvx2,
                                        .cached_attention = &kCachedAttentionAvx2,
                                        .fft32 = &kFft32Avx2,
                                        .fft64 = &kFft64Avx2,
                                        .finish_rows = finish_rows_avx2,
                                        .gates = &kGatesAvx2,
                                        .gemm = &kGemmKernelsAvx2,
                                        .int8 = &kInt8Avx2,
                                        .quantized = &kQuantizedAvx2,
                                        .sparse = detail::sparse_rows_avx2},
                                       baseline_level()}};
  }());
  return levels;
}

std::span<const EngineKernels> engine_kernels() {
  static const auto& tiles = *new BFloat16Kernels(with_tiles());
  static const auto& engines =
      *new std::array<EngineKernels, 3>{{{.engine = "avx512-bf16", .bfloat16 = &kBFloat16Avx512},
                                         {.engine = "amx-bf16", .bfloat16 = &tiles},
                                         {.engine = "amx-int8", .int8 = &kInt8Amx, .beside = "avx512-vnni"}}};
  return engines;
}

BuiltLevel built_level() {
  const int bytes = host_has("fma") ? runtime::host_vector_bytes() : 0;
  if (bytes >= 64) return {64, {WEFT_FOR_EACH_FILE(WEFT_BUILT_ADDRESS, avx512)}};
  if (bytes >= 32) return {32, {WEFT_FOR_EACH_FILE(WEFT_BUILT_ADDRESS, avx2)}};
  return {};
}

// Releases before 0.3.22 take newer processors for very old ones.
const char* blas_core_type() {
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return "SkylakeX";
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "Haswell" : nullptr;
}

}  // namespace weft::kernels
