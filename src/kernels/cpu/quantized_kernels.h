// The innermost loops of products with packed weights, compiled once per instruction set from
// quantized_kernels.inc. This header is included where wider instructions are enabled than the machine may
// have: it must not bring in inline functions.
#pragma once

#include <cstdint>

namespace weft::kernels {

enum class FinishActivation : uint8_t { None, Relu, Silu, GeluTanh };  // as weft::LinearActivation
enum class WeightFormat : uint8_t { F32, F16, BF16, Int8, Int4 };
inline constexpr int kNumWeightFormats = 5;

// A panel holds the weights of 64 outputs, one after another in the order in which the inputs come:
//   F32, F16, BF16  [k][64]
//   Int8            [k / 4][64][4]
//   Int4            per group of inputs: scales bf16[64], zeros bf16[64], then [group / 8][64][4] bytes; byte
//   i of four has
//                   input i in its low and input i + 4 in its high bits, as signed numbers q - 8
inline constexpr int64_t kPanel = 64;
inline constexpr int kMaxSmallBatch = 8;  // rows that share one pass over the weights
inline constexpr int kMaxDotRows = 12;

// y[i][j] = sum over k of x[i][k] * weights[k][j], for the 64 outputs j of a panel. The order of a sum's
// terms does not depend on the number of rows.
struct PanelArgs {
  const float* x;  // [rows][x_stride]
  int64_t x_stride;
  int64_t k;               // inputs, as many as are packed
  const uint8_t* weights;  // the panel
  const float* scales;     // Int8: [64]
  int64_t group;           // Int4: inputs of a group
  const float* x_sums;     // Int4: [rows][sums_stride], x summed over each group
  int64_t sums_stride;
  float* y;  // [rows][64]
};
using PanelFn = void (*)(const PanelArgs& args);

// What follows the sums: y = activation(sums + bias) + residual; where gated, of every 64 sums the first 32
// are activated and multiplied with the other 32, and y has half as many columns.
struct FinishArgs {
  int64_t rows, columns;  // of y
  bool gated;
  FinishActivation activation;
  const float* sums;  // whole vectors are readable
  int64_t sums_stride;
  const float* bias;      // as a row of sums, or null
  const float* residual;  // as y, or null
  int64_t residual_stride;
  float* y;
  int64_t y_stride;
};

struct QuantizedKernels {
  const char* name;
  // By format and number of rows, 1 to max_rows.
  int max_rows;
  PanelFn multiply[kNumWeightFormats][kMaxSmallBatch + 1];
  void (*finish)(const FinishArgs& args);
};

// The best set this machine has, within WEFT_VECTOR_BYTES.
const QuantizedKernels& quantized_kernels();

extern const QuantizedKernels kQuantizedBaseline;
#if defined(__x86_64__)
extern const QuantizedKernels kQuantizedAvx2, kQuantizedAvx512;
#endif

}  // namespace weft::kernels
