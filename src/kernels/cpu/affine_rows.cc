#include "kernels/cpu/affine_rows.h"

#include <algorithm>
#include <string_view>

#include "runtime/toolchain.h"

namespace weft::kernels {

const AffineKernels* affine_kernels_of(const char* name) {
  const std::string_view wanted(name);
#if defined(__x86_64__)
  const int bytes = runtime::host_vector_bytes();
  const auto features = runtime::host_cpu_features();
  const bool fma = std::find(features.begin(), features.end(), "fma") != features.end();
  if (wanted == "avx512") return bytes >= 64 && fma ? &kAffineAvx512 : nullptr;
  if (wanted == "avx2") return bytes >= 32 && fma ? &kAffineAvx2 : nullptr;
#endif
  return wanted == "baseline" ? &kAffineBaseline : nullptr;
}

const AffineKernels& affine_kernels() {
  static const AffineKernels* const kernels = [] {
    for (const char* name : {"avx512", "avx2"})
      if (const AffineKernels* const found = affine_kernels_of(name)) return found;
    return &kAffineBaseline;
  }();
  return *kernels;
}

}  // namespace weft::kernels
