#include "kernels/cpu/fft_kernels.h"

#include "runtime/toolchain.h"

namespace weft::kernels {
namespace {

template <class T>
struct Sets {
  const FftKernels<T>& baseline;
#if defined(__x86_64__)
  const FftKernels<T>&avx2, &avx512;
#endif
};

template <class T>
const FftKernels<T>& select(const Sets<T>& sets) {
#if defined(__x86_64__)
  const int bytes = runtime::host_vector_bytes();
  bool fma = false;
  for (const auto& feature : runtime::host_cpu_features()) fma = fma || feature == "fma";
  if (bytes >= 64 && fma) return sets.avx512;
  if (bytes >= 32 && fma) return sets.avx2;
#endif
  return sets.baseline;
}

}  // namespace

#if defined(__x86_64__)
#define WEFT_SETS(BITS) {kFft##BITS##Baseline, kFft##BITS##Avx2, kFft##BITS##Avx512}
#else
#define WEFT_SETS(BITS) {kFft##BITS##Baseline}
#endif

template <>
const FftKernels<float>& fft_kernels<float>() {
  static const FftKernels<float>& kernels = select<float>(WEFT_SETS(32));
  return kernels;
}
template <>
const FftKernels<double>& fft_kernels<double>() {
  static const FftKernels<double>& kernels = select<double>(WEFT_SETS(64));
  return kernels;
}
#undef WEFT_SETS

}  // namespace weft::kernels
