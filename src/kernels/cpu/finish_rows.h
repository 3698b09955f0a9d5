// What follows the sums of a matrix product: scales, bias, activation, residual, and one rounding. Compiled
// once per instruction set from finish_rows.inc, with the same bits from each. This header is included where
// wider instructions are enabled than the machine may have: it must not bring in inline functions.
#pragma once

#include <cstdint>

namespace weft::kernels {

enum class RowActivation : uint8_t { None, Relu, Relu6, HardSwish, HardSigmoid, Silu, GeluErf, GeluTanh };

// y = activation(sums * row scale * scale + bias [+ residual]) [+ residual], in float32.
struct FinishRowsArgs {
  int64_t rows, columns;
  const void* sums;  // float or int32 [rows][sums_stride]; to the next multiple of 16 columns readable
  int64_t sums_stride;
  bool integers;
  const float* row_scales;     // [rows], or null
  const float *scales, *bias;  // [columns], readable as sums are; or null
  RowActivation activation;
  bool residual_first;   // the residual is added before the activation, not after it
  bool bfloat16;         // y and residual are bfloat16, else float
  const void* residual;  // [rows][residual_stride] or null
  int64_t residual_stride;
  void* y;
  int64_t y_stride;
};
using FinishRowsFn = void (*)(const FinishRowsArgs& args);

// The widest there is for this machine, within WEFT_VECTOR_BYTES.
FinishRowsFn finish_rows();

void finish_rows_baseline(const FinishRowsArgs& args);

}  // namespace weft::kernels
