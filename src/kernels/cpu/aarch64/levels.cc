#include "kernels/cpu/levels.h"

#include <array>

#include "runtime/matrix_engines.h"

namespace weft::kernels {

extern const Int8Kernels kInt8I8mm, kInt8Dotprod;
extern const QuantizedKernels kQuantizedI8mm, kQuantizedDotprod;

// NEON is there on every processor: the baseline's vectors of 16 bytes are its.
std::span<const KernelLevel> kernel_levels() {
  static const auto& levels =
      *new std::array<KernelLevel, 3>{{{.name = "i8mm",
                                        .is_usable = runtime::has_matrix_engine("i8mm"),
                                        .int8 = &kInt8I8mm,
                                        .quantized = &kQuantizedI8mm},
                                       {.name = "dotprod",
                                        .is_usable = runtime::has_matrix_engine("dotprod"),
                                        .int8 = &kInt8Dotprod,
                                        .quantized = &kQuantizedDotprod},
                                       baseline_level()}};
  return levels;
}

std::span<const EngineKernels> engine_kernels() { return {}; }

BuiltLevel built_level() { return {}; }

const char* blas_core_type() { return nullptr; }

}  // namespace weft::kernels
