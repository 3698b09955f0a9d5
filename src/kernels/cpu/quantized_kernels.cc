#include "kernels/cpu/quantized_kernels.h"

#include "runtime/toolchain.h"

namespace weft::kernels {
namespace {

const QuantizedKernels& select() {
#if defined(__x86_64__)
  const int bytes = runtime::host_vector_bytes();
  bool fma = false;
  for (const auto& feature : runtime::host_cpu_features()) fma = fma || feature == "fma";
  if (bytes >= 64 && fma) return kQuantizedAvx512;
  if (bytes >= 32 && fma) return kQuantizedAvx2;
#endif
  return kQuantizedBaseline;
}

}  // namespace

const QuantizedKernels& quantized_kernels() {
  static const QuantizedKernels& kernels = select();
  return kernels;
}

}  // namespace weft::kernels
