#include "kernels/cpu/bfloat16_kernels.h"

#include <string_view>

#include "kernels/cpu/levels.h"
#include "runtime/matrix_engines.h"

namespace weft::kernels {
namespace {

const BFloat16Kernels* select_bfloat16() {
  // An engine is worth its packing from so much on. Where AVX512-BF16 runs at half of float32's rate it is
  // far below, elsewhere near 2.
  double best = 1.25;
  const BFloat16Kernels* found = nullptr;
  for (const EngineKernels& one : engine_kernels()) {
    const double speedup = one.bfloat16 != nullptr ? runtime::matrix_engine_speedup(one.engine) : 0;
    if (speedup > best) best = speedup, found = one.bfloat16;
  }
  return found;
}

}  // namespace

const BFloat16Kernels* bfloat16_kernels() {
  static const BFloat16Kernels* const kernels = select_bfloat16();
  return kernels;
}

const BFloat16Kernels* bfloat16_kernels_of(const char* engine) {
  for (const EngineKernels& one : engine_kernels())
    if (std::string_view(one.engine) == engine && one.bfloat16 != nullptr &&
        runtime::has_matrix_engine(engine))
      return one.bfloat16;
  return nullptr;
}

}  // namespace weft::kernels
