#include "kernels/cpu/int8_kernels.h"

#include "kernels/cpu/levels.h"
#include "runtime/matrix_engines.h"

namespace weft::kernels {

const Int8Kernels& int8_kernels() {
  static const Int8Kernels& kernels = [&]() -> const Int8Kernels& {
    for (const EngineKernels& one : engine_kernels())
      if (one.int8 != nullptr &&
          runtime::matrix_engine_speedup(one.engine) > runtime::matrix_engine_speedup(one.beside))
        return *one.int8;
    return *best_kernels(&KernelLevel::int8);
  }();
  return kernels;
}

}  // namespace weft::kernels
