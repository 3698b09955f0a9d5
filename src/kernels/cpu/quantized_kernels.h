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
//   Int8            [k / 4][64][4] bytes, the numbers + 128
//   Int4            per group of inputs: scales bf16[64], zeros bf16[64], then [group / 8][64][4] bytes; byte
//   i
//                   of four has the q of input i in its low and of input i + 4 in its high bits
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
  int64_t group;           // Int4: inputs of a group
  const float* x_sums;     // Int4: [rows][sums_stride], x summed over each group
  int64_t sums_stride;
  float* y;  // [rows][64]
};
using PanelFn = void (*)(const PanelArgs& args);

// Inputs as integers: per group x = scale * q, q = 256 * first plane + second plane, or the one plane there
// is. With two planes |q| <= 32512, and x is rounded to 2^-16 of the group's largest magnitude; with one, to
// 2^-8.
struct QuantizeRowArgs {
  const float* x;
  int64_t k, plane;  // k: a multiple of 16; plane: of the second plane from the first
  int64_t group;     // the last may be shorter
  int planes;
  int32_t offset;   // 128 for Int8, 8 for Int4: what the bytes of a panel exceed the numbers by
  int8_t* values;   // [planes][plane]
  float* scales;    // [groups]; NaN where x has an infinity or NaN
  float* sums;      // [groups]: scale * sum of q
  int32_t* starts;  // [groups]: -offset * sum of q, modulo 2^32
};

// y[i][j] += sum over groups of inputs x[i] of scale * (sum of q * weights[j]), for the 64 outputs j of a
// panel.
struct DotArgs {
  const int8_t* x;  // [rows][x_stride], the second plane x_plane after the first
  int64_t x_stride, x_plane;
  const float *x_scales, *x_sums;  // [rows][groups_stride]
  const int32_t* x_starts;
  int64_t groups_stride;
  int64_t k, group;        // inputs; the last group may be shorter
  const uint8_t* weights;  // of the panel, from these inputs on
  const float* scales;     // of dot_unpacked
  float* y;                // [rows][64]
};
using DotFn = void (*)(const DotArgs& args);

// What follows the sums: y = activation(sums * scales + bias) + residual; where gated, of every 64 sums the
// first 32 are activated and multiplied with the other 32, and y has half as many columns.
struct FinishArgs {
  int64_t rows, columns;  // of y
  bool gated;
  FinishActivation activation;
  const float* sums;  // whole vectors are readable
  int64_t sums_stride;
  const float *scales, *bias;  // as a row of sums, or null
  const float* residual;       // as y, or null
  int64_t residual_stride;
  float* y;
  int64_t y_stride;
};

struct QuantizedKernels {
  const char* name;
  // By format and number of rows, 1 to max_rows.
  int max_rows;
  PanelFn multiply[kNumWeightFormats][kMaxSmallBatch + 1];
  // By number of planes: [Int8, Int4][planes - 1][rows], 1 to dot_rows[planes - 1].
  bool has_dot;  // the machine has an instruction for it
  int dot_rows[2];
  DotFn dot[2][2][kMaxDotRows + 1];
  // The same for one plane, with int4 weights that were unpacked: bytes [k / 4][64][4], and scales and zeros
  // [groups][2][64].
  int unpacked_rows;
  DotFn dot_unpacked[kMaxDotRows + 1];
  void (*unpack_int4)(const uint8_t* weights, int64_t k, int64_t group, uint8_t* bytes, float* scales);
  void (*quantize_row)(const QuantizeRowArgs& args);
  // Weights of inputs [0, k) of a panel, whose numbers are not yet multiplied with Int8's scales, as blocks
  // of `lanes * 2` outputs: [64 / block][k][block].
  int lanes;
  void (*expand[kNumWeightFormats])(const uint8_t* weights, int64_t k, int64_t group, float* to);
  void (*finish)(const FinishArgs& args);
};

// The best set this machine has, within WEFT_VECTOR_BYTES.
const QuantizedKernels& quantized_kernels();

extern const QuantizedKernels kQuantizedBaseline;
#if defined(__x86_64__)
extern const QuantizedKernels kQuantizedAvx2, kQuantizedAvxVnni, kQuantizedAvx512, kQuantizedAvx512Vnni;
#endif

}  // namespace weft::kernels
