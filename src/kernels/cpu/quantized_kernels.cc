#include "kernels/cpu/quantized_kernels.h"

#include <algorithm>

#include "runtime/toolchain.h"

namespace weft::kernels {
namespace {

const QuantizedKernels& select_quantized() {
#if defined(__x86_64__)
  const int bytes = runtime::host_vector_bytes();
  const auto has = [](const char* wanted) {
    const auto features = runtime::host_cpu_features();
    return std::find(features.begin(), features.end(), wanted) != features.end();
  };
  const bool fma = has("fma");
  if (bytes >= 64 && fma) return has("avx512vnni") ? kQuantizedAvx512Vnni : kQuantizedAvx512;
  if (bytes >= 32 && fma) return has("avxvnni") ? kQuantizedAvxVnni : kQuantizedAvx2;
#endif
  return kQuantizedBaseline;
}

}  // namespace

const QuantizedKernels& quantized_kernels() {
  static const QuantizedKernels& kernels = select_quantized();
  return kernels;
}

}  // namespace weft::kernels
