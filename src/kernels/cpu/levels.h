// The sets of kernels that this library has, by levels of instructions. Those above the baseline lie in the
// folder of the architecture, kernels/cpu/x86_64 and so on, whose levels.cc defines what stands here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/affine_rows.h"
#include "kernels/cpu/attention_kernels.h"
#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/built_table.h"
#include "kernels/cpu/cached_attention_kernels.h"
#include "kernels/cpu/fft_kernels.h"
#include "kernels/cpu/finish_rows.h"
#include "kernels/cpu/gemm_kernels.h"
#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/quantized_kernels.h"
#include "kernels/cpu/recurrent_kernels.h"
#include "kernels/cpu/sparse_products.h"

namespace weft::kernels {

struct KernelLevel {
  const char* name = "";   // "avx2"
  bool is_usable = false;  // here, within WEFT_VECTOR_BYTES
  // Null: the level has none of its own, and those of the next are taken.
  const AffineKernels* affine = nullptr;
  const AttentionKernels* attention = nullptr;
  const CachedAttentionKernels* cached_attention = nullptr;
  const FftKernels<float>* fft32 = nullptr;
  const FftKernels<double>* fft64 = nullptr;
  FinishRowsFn finish_rows = nullptr;
  const GateKernels* gates = nullptr;
  const GemmKernels* gemm = nullptr;
  const Int8Kernels* int8 = nullptr;
  const QuantizedKernels* quantized = nullptr;
  detail::SparseRows sparse = nullptr;  // of the baseline: null, dense products are faster there
};

// From the one to be taken first to the baseline, which is usable everywhere and has all kinds but `sparse`.
std::span<const KernelLevel> kernel_levels();
// The baseline's, for the end of that list.
KernelLevel baseline_level();

// The usable ones of a kind, from the best to the baseline's.
template <class Kernels>
std::vector<Kernels> kernels_here(Kernels KernelLevel::*kind) {
  std::vector<Kernels> found;
  for (const KernelLevel& level : kernel_levels())
    if (level.is_usable && level.*kind != nullptr) found.push_back(level.*kind);
  return found;
}
template <class Kernels>
Kernels best_kernels(Kernels KernelLevel::*kind) {
  return kernels_here(kind).front();
}
// Kernels of matrix engines, by the engines' names (runtime/matrix_engines.h), from the smallest to the
// largest. Which are taken is measured: those of bfloat16 beside float32's products, those of int8 beside the
// engine that the levels' kernels have, `beside`.
struct EngineKernels {
  const char* engine;
  const BFloat16Kernels* bfloat16 = nullptr;
  const Int8Kernels* int8 = nullptr;
  const char* beside = nullptr;
};
std::span<const EngineKernels> engine_kernels();

// Kernels that the code generator wrote as the library was built (kernels/cpu/built.h), by the level of this
// machine; without any in the program that writes them.
struct BuiltLevel {
  int vector_bytes = 0;
  std::vector<const BuiltKernels*> files;
};
BuiltLevel built_level();
// The names of what the build writes for a level, in so many files.
#define WEFT_FOR_EACH_FILE(X, LEVEL) X(LEVEL, 0) X(LEVEL, 1) X(LEVEL, 2) X(LEVEL, 3)
#define WEFT_DECLARE_BUILT(LEVEL, FILE) \
  extern const weft::kernels::BuiltKernels weft_built_##LEVEL##_##FILE __attribute__((weak));
#define WEFT_BUILT_ADDRESS(LEVEL, FILE) &weft_built_##LEVEL##_##FILE,

// What OPENBLAS_CORETYPE is to be where nobody has set it: its releases take some processors for others.
// Null: theirs.
const char* blas_core_type();

}  // namespace weft::kernels
