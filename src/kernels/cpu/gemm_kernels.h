// The innermost loops of float32 matrix products and convolutions, compiled once per instruction set from
// gemm_kernels.inc. This header is included where wider instructions are enabled than the machine may have:
// it must not bring in inline functions.
#pragma once

#include <cstdint>

namespace weft::kernels {

// As RowActivation (finish_rows.h).
enum class Activation : uint8_t { None, Relu, Relu6, HardSwish, HardSigmoid, Silu, GeluErf, GeluTanh };

inline constexpr int kMaxTileRows = 12;
inline constexpr int kMaxTileVectors = 3;

// One tile of outputs: y[i, j] = clamp(start + sum over runs r and k of rows[r][i][k] * weights[r, k, j] +
// residual[i, j]) for `rows` rows i and `columns` columns j, at most vectors * lanes of them. Every sum is
// added in the order of r and k.
struct TileArgs {
  const float* const* rows;  // [num_runs][rows_stride]: where each run of inputs starts
  int64_t rows_stride, num_runs, run_length;
  const float* weights;   // [num_runs * run_length][vectors * lanes]
  int64_t weight_stride;  // of tile_in_place, whose weights are the rows of a matrix
  const float* start;     // [vectors * lanes] or null: zero
  bool accumulate;        // start from y
  float* y;
  int64_t y_stride;
  const float* residual;  // or null
  int64_t residual_stride;
  int64_t columns;
  float low, high;
};
using TileFn = void (*)(const TileArgs& args);

// Depthwise: y[i, j] = clamp(start[j] + sum over tap rows r and columns c of x[i * x_step + r * row_pitch + c
// * column_pitch + j] * weights[r * weight_row_pitch + c * weight_pitch + j] + residual[i, j]) for `columns`
// channels j.
struct DepthwiseArgs {
  const float* x;
  int64_t x_step, pixels;
  int64_t tap_rows, tap_columns, row_pitch, column_pitch;
  const float* weights;  // whole vectors readable
  int64_t weight_row_pitch, weight_pitch;
  const float* start;
  float* y;
  int64_t y_stride;
  const float* residual;
  int64_t residual_stride;
  int64_t columns;
  float low, high;
};

struct GemmKernels {
  const char* name;
  int lanes;
  int max_rows[kMaxTileVectors + 1];  // of a tile, by its number of vectors
  TileFn tile[kMaxTileVectors + 1][kMaxTileRows + 1];
  TileFn tile_in_place[kMaxTileRows + 1];  // of two vectors
  void (*depthwise)(const DepthwiseArgs& args);
  // y = activation(y), `columns` elements in each of `rows` rows. The order of a NaN's bits is kept.
  void (*activate)(Activation activation, int64_t rows, int64_t columns, float* y, int64_t y_stride);
  // to[j * to_stride + i] = from[i * from_stride + j]
  void (*transpose)(int64_t rows, int64_t columns, const float* from, int64_t from_stride, float* to,
                    int64_t to_stride);
  // y[i * y_stride + j] = sum over k of a[i * a_stride + k] * b[j * b_stride + k].
  void (*dots)(int64_t rows, int64_t columns, int64_t k, const float* a, int64_t a_stride, const float* b,
               int64_t b_stride, float* y, int64_t y_stride);
  // y[j] += sum over k of x[k] * b[k * b_stride + j].
  void (*combine)(int64_t k, int64_t columns, const float* x, const float* b, int64_t b_stride, float* y);
};

// The widest set this machine has, within WEFT_VECTOR_BYTES.
const GemmKernels& gemm_kernels();

extern const GemmKernels kGemmKernelsBaseline;

}  // namespace weft::kernels
