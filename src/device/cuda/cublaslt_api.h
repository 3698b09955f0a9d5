// The part of cuBLASLt's interface that weft uses, as NVIDIA documents it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::cuda::lt {

using Status = int;  // 0: success
using Handle = void*;
using Description = void*;
using Layout = void*;
using Preference = void*;

struct Algorithm {
  std::array<uint64_t, 8> data{};
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace = 0;
  Status state = 0;
  float waves = 0;
  std::array<int, 4> reserved{};
};
static_assert(sizeof(Heuristic) == 96);

enum DataType : int { kF32 = 0, kF64 = 1, kF16 = 2, kI8 = 3, kI32 = 10, kBF16 = 14 };
// What sums are: of float32 those that are not rounded to TF32.
enum ComputeType : int { kSumsF32 = 68, kSumsF64 = 70, kSumsI32 = 72 };
enum Operation : int { kAsIs = 0, kTransposed = 1 };
enum DescriptionAttribute : int { kTransA = 3, kTransB = 4, kEpilogue = 7, kBiasPointer = 8 };
enum Epilogue : int { kPlain = 1, kRelu = 2, kBias = 4, kGelu = 32 };  // bias and an activation: both bits
enum LayoutAttribute : int { kBatchCount = 5, kBatchStep = 6 };
enum PreferenceAttribute : int { kMostWorkspace = 1, kReductions = 3, kAlignmentA = 5 };  // then B, C, D
// Parts of a sum are added up in the type of sums, never in that of results.
constexpr uint32_t kReductionsOfSums = 2;

// name, parameters; each gives a Status
#define WEFT_CUBLASLT_FUNCTIONS(X)                                                                           \
  X(cublasLtCreate, (Handle * made))                                                                         \
  X(cublasLtMatmulDescCreate, (Description * made, int compute_type, int scale_type))                        \
  X(cublasLtMatmulDescDestroy, (Description ended))                                                          \
  X(cublasLtMatmulDescSetAttribute, (Description changed, int attribute, const void* value, size_t bytes))   \
  X(cublasLtMatrixLayoutCreate, (Layout * made, int type, uint64_t rows, uint64_t columns, int64_t leading)) \
  X(cublasLtMatrixLayoutDestroy, (Layout ended))                                                             \
  X(cublasLtMatrixLayoutSetAttribute, (Layout changed, int attribute, const void* value, size_t bytes))      \
  X(cublasLtMatmulPreferenceCreate, (Preference * made))                                                     \
  X(cublasLtMatmulPreferenceDestroy, (Preference ended))                                                     \
  X(cublasLtMatmulPreferenceSetAttribute,                                                                    \
    (Preference changed, int attribute, const void* value, size_t bytes))                                    \
  X(cublasLtMatmulAlgoGetHeuristic,                                                                          \
    (Handle handle, Description product, Layout a, Layout b, Layout c, Layout d, Preference preference,      \
     int wanted, void* results, int* found))                                                                 \
  X(cublasLtMatmul,                                                                                          \
    (Handle handle, Description product, const void* alpha, const void* a, Layout a_layout, const void* b,   \
     Layout b_layout, const void* beta, const void* c, Layout c_layout, void* d, Layout d_layout,            \
     const void* algorithm, void* workspace, size_t workspace_bytes, void* stream))

struct Api {
  std::string problem;  // why there is none; empty: all functions are there
#define WEFT_CUBLASLT_DECLARE(NAME, PARAMETERS) Status(*NAME) PARAMETERS = nullptr;
  WEFT_CUBLASLT_FUNCTIONS(WEFT_CUBLASLT_DECLARE)
#undef WEFT_CUBLASLT_DECLARE
};

}  // namespace weft::cuda::lt
