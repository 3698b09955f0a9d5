// Products of bfloat16 rows with weights that were packed once for an engine (bfloat16_kernels.h), and what
// follows them, in float32, with one rounding (finish_rows.h).
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/finish_rows.h"
#include "kernels/cpu/packed_weights.h"

namespace weft::kernels {

// The left operand: rows that lie in memory, or that are put together where they are needed.
struct BFloat16Rows {
  const uint16_t* data = nullptr;
  int64_t stride = 0;
  // Rows [first, first + count) of k numbers into to[count][stride]; empty: they lie at `data`.
  std::function<void(int64_t first, int64_t count, uint16_t* to, int64_t stride)> gather = {};
};

struct BFloat16Finish {
  RowActivation activation = RowActivation::None;
  bool residual_first = false;
  const uint16_t* residual = nullptr;  // as y
  int64_t residual_stride = 0;
  uint16_t* y = nullptr;
  int64_t y_stride = 0;
};

class PackedBFloat16 {
 public:
  // weight[n][k]; bias float [n] or null.
  PackedBFloat16(const BFloat16Kernels& engine, int64_t n, int64_t k, const uint16_t* weight,
                 const float* bias);

  // y[m][n] = activation(x @ weight.T + bias) + residual.
  void run(const BFloat16Rows& x, int64_t m, const BFloat16Finish& finish) const;

  int64_t n() const { return n_; }
  int64_t k() const { return k_; }

 private:
  class Call;
  int64_t part_depth(int64_t part) const;

  const BFloat16Kernels& engine_;
  int64_t n_, k_, panels_, depth_, step_, parts_;
  FloatBuffer weights_, bias_;  // [parts][panels][32 columns of the part's depth]; [panels * 32] or empty
};

}  // namespace weft::kernels
