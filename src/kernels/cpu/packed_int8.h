// Products of int8 rows with int8 weights that were packed once: exact in int32, then scales, bias,
// activation and residual in float32, with one rounding (finish_rows.h).
#pragma once

#include <cstdint>

#include "kernels/cpu/finish_rows.h"
#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/packed_weights.h"

namespace weft::kernels {

struct Int8Finish {
  const float* row_scales = nullptr;  // [m], or null
  RowActivation activation = RowActivation::None;
  bool bfloat16 = false;           // y and residual are bfloat16, else float
  const void* residual = nullptr;  // as y
  void* y = nullptr;               // [m][n]
};

class PackedInt8 {
 public:
  // weight[n][k]; scales and bias [n], or null.
  PackedInt8(const Int8Kernels& kernels, int64_t n, int64_t k, const int8_t* weight, const float* scales,
             const float* bias);

  // y[m][n] = activation(x[m][k] @ weight.T * row scale * scale + bias) + residual.
  void run(const int8_t* x, int64_t m, const Int8Finish& finish) const;
  // The sums themselves.
  void run(const int8_t* x, int64_t m, int32_t* sums) const;

  int64_t n() const { return n_; }

 private:
  struct Call;
  void pack(const int8_t* weight);

  const Int8Kernels& kernels_;
  int64_t n_, k_, panels_, depth_;
  FloatBuffer weights_, starts_, scales_, bias_;
};

// Columns that are contiguous, into panels of 32.
void pack_int8_columns(const Int8Kernels& kernels, const PackInt8Args& args);

// Rows of k numbers in float32 to int8: scale = max(largest magnitude, 1e-5) / 127, q = x / scale rounded
// half to even and clamped to [-127, 127].
void quantize_tokens(const float* x, int64_t rows, int64_t k, int8_t* q, float* scales);

}  // namespace weft::kernels
