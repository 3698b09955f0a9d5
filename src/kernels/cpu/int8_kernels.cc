#include "kernels/cpu/int8_kernels.h"

#include <algorithm>
#include <string_view>

#include "runtime/matrix_engines.h"
#include "runtime/toolchain.h"

namespace weft::kernels {

const Int8Kernels* int8_kernels_of(const char* name) {
  const std::string_view wanted(name);
#if defined(__x86_64__)
  const int bytes = runtime::host_vector_bytes();
  const auto has = [](const char* feature) {
    const auto features = runtime::host_cpu_features();
    return std::find(features.begin(), features.end(), feature) != features.end();
  };
  if (wanted == "amxint8") return runtime::has_matrix_engine("amx-int8") ? &kInt8Amx : nullptr;
  if (wanted == "avx512vnni") return bytes >= 64 && has("avx512vnni") ? &kInt8Avx512Vnni : nullptr;
  if (wanted == "avx512") return bytes >= 64 ? &kInt8Avx512 : nullptr;
  if (wanted == "avxvnni") return bytes >= 32 && has("avxvnni") ? &kInt8AvxVnni : nullptr;
  if (wanted == "avx2") return bytes >= 32 ? &kInt8Avx2 : nullptr;
#endif
  return wanted == "baseline" ? &kInt8Baseline : nullptr;
}

const Int8Kernels& int8_kernels() {
  static const Int8Kernels& kernels = [&]() -> const Int8Kernels& {
    if (runtime::matrix_engine_speedup("amx-int8") > runtime::matrix_engine_speedup("avx512-vnni"))
      return *int8_kernels_of("amxint8");
    for (const char* name : {"avx512vnni", "avx512", "avxvnni", "avx2"})
      if (const Int8Kernels* found = int8_kernels_of(name)) return *found;
    return kInt8Baseline;
  }();
  return kernels;
}

}  // namespace weft::kernels
