#include "kernels/cpu/finish_rows.h"

#include <algorithm>
#include <string_view>

#include "runtime/toolchain.h"

namespace weft::kernels {

FinishRowsFn finish_rows_of(const char* name) {
  const std::string_view wanted(name);
#if defined(__x86_64__)
  const int bytes = runtime::host_vector_bytes();
  const auto features = runtime::host_cpu_features();
  const bool fma = std::find(features.begin(), features.end(), "fma") != features.end();
  if (wanted == "avx512") return bytes >= 64 && fma ? finish_rows_avx512 : nullptr;
  if (wanted == "avx2") return bytes >= 32 && fma ? finish_rows_avx2 : nullptr;
#endif
  return wanted == "baseline" ? finish_rows_baseline : nullptr;
}

FinishRowsFn finish_rows() {
  static const FinishRowsFn fn = [] {
    for (const char* name : {"avx512", "avx2"})
      if (const FinishRowsFn found = finish_rows_of(name)) return found;
    return finish_rows_of("baseline");
  }();
  return fn;
}

}  // namespace weft::kernels
