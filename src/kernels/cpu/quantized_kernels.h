// The innermost loops of products with packed weights, compiled once per instruction set from
// quantized_kernels.inc. This header is included where wider instructions are enabled than the machine may
// have: it must not bring in inline functions.
#pragma once

#include <cstdint>

namespace weft::kernels {

enum class FinishActivation : uint8_t { None, Relu, Silu, GeluTanh };  // as weft::LinearActivation
enum class WeightFormat : uint8_t { F32, F16, BF16, Int8, Int4, Groups };
inline constexpr int kNumWeightFormats = 6;

// A panel holds the weights of 64 outputs, one after another in the order in which the inputs come:
//   F32, F16, BF16  [k][64]
//   Int8            [k / 4][64][4] bytes, the numbers + 128
//   Int4            per group of inputs: scales bf16[64], zeros bf16[64], then [group / 8][64][4] bytes; byte
//   i
//                   of four has the q of input i in its low and of input i + 4 in its high bits
//   Groups          as GroupLayout says
inline constexpr int64_t kPanel = 64;
inline constexpr int kMaxSmallBatch = 8;  // rows that one call of a kernel takes
inline constexpr int kFewRows = 16;       // floating ones, for which weights are not expanded
inline constexpr int kMaxDotRows = 8;

// A weight is scale * (code - offset) + zero, with a scale and a zero for each group of inputs. In a panel, a
// block of groups is: scales of its scales f16[64] and, with zeros, of its zeros f16[64], where scales are
// bytes; then per group its scales [64], its zeros [64], the codes' high bits [64][4] bytes, and
//   Four, Five, Six  [group / 8][64][4] bytes, as Int4's. Of the high bits, byte i of four has those of input
//                    4 s + i at s (Five, groups of 32) or 2 s (Six, groups of 16)
//   Eight            [group / 4][64][4] bytes
enum class GroupNumbers : uint8_t { Four, Five, Six, Eight };
enum class GroupScales : uint8_t {
  F16,
  BF16,
  F32,
  Byte,
  SignedByte
};  // the last two times those of the block
// What codes are: integers, numbers of a table, or float8 (e4m3fn); the last two are multiplied as float32.
enum class GroupValues : uint8_t { Integers, Table, Float8 };
struct GroupLayout {
  int64_t group, block;  // inputs; the block is one group where scales are no bytes
  GroupNumbers numbers;
  GroupScales scales;
  bool has_zeros;
  int32_t offset;
  const uint8_t* table;  // of 16: what codes stand for; or null
  int64_t block_head, group_head,
      group_bytes;  // bytes before a block's groups, of a group's scales, of a group
  GroupValues values;
  float floats[16];  // Table
};

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

// The same for many rows, added to y: `tiles` of tile_rows rows each, which lie together.
struct TilesArgs {
  int64_t tiles;
  const float* x;  // [tiles][x_stride], of which [k][rows]
  int64_t x_stride;
  int64_t k;
  const float* weights;  // as `expand` gives them
  float* y;              // [tiles][rows][64]
  const uint8_t* next;   // weights that come into the second-level cache meanwhile
  int64_t next_bytes;
};

// Inputs as integers: per group x = scale * q, q = 256 * first plane + second plane, or the one plane there
// is. With two planes |q| <= 32512, and x is rounded to 2^-16 of the group's largest magnitude; with one, to
// 2^-8.
struct QuantizeRowArgs {
  const float* x;
  int64_t k;            // a multiple of 16
  int64_t step, plane;  // bytes from four inputs to the next four, and from the first plane to the second
  int64_t group;        // the last may be shorter
  int planes;
  int32_t offset;   // 128 for Int8, 8 for Int4: what the bytes of a panel exceed the numbers by
  bool for_tiles;   // of dot_tiles, not dot
  bool has_scales;  // groups of weights have them
  int64_t groups_stride;
  int8_t* values;
  float* scales;    // [groups][groups_stride]; NaN where x has an infinity or NaN
  float* sums;      // likewise: scale * sum of q
  int32_t* starts;  // -offset * sum of q, modulo 2^32; what sums of products start at
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
  const uint8_t* weights;  // of the panel, from these inputs on; Groups: bytes [k / 4][64][4]
  const float* scales;     // Groups: scales and zeros, [groups][2][64]
  float* y;                // [rows][64]
};
using DotFn = void (*)(const DotArgs& args);

// The same for many rows: `tiles` of tile_lines / planes rows each, which lie together.
struct DotTilesArgs {
  int64_t tiles;
  const int8_t* x;  // [tiles][x_stride], of which [k / 4][rows][planes][4]
  int64_t x_stride;
  const float *x_scales, *x_sums;  // [tiles][groups_stride], of which [groups][rows]
  const int32_t* x_starts;
  int64_t groups_stride;
  int64_t k, group;        // inputs; the last group may be shorter, to a multiple of 4
  const uint8_t* weights;  // bytes [k / 4][64][4]
  const float* scales;     // Int4, Groups: scales and zeros, [groups][2][64]
  float* y;                // [tiles][rows][64]
  const uint8_t* next;     // as in TilesArgs
  int64_t next_bytes;
};
using DotTilesFn = void (*)(const DotTilesArgs& args);

// What follows the sums: y = activation(sums * scales + bias) + residual; where gated, of every 64 sums the
// first 32 are activated and multiplied with the other 32, and y has half as many columns.
struct FinishArgs {
  int64_t rows, columns;  // of y
  bool gated;
  FinishActivation activation;
  const float* sums;  // of some panels: [rows][64], sums_stride after the panel before
  int64_t sums_stride;
  const float *scales, *bias;  // [panels][64], or null
  const float* residual;       // as y, or null
  int64_t residual_stride;
  float* y;
  int64_t y_stride;
};

// Weights in float32 to numbers: the low byte of the integer in [least, most] nearest to (x - start) / scale,
// half to even, with a start and a scale for each group.
struct QuantizeWeightsArgs {
  const float* x;
  int64_t k, group;  // weights; the last group may be shorter
  const float *starts, *scales;
  float least, most;
  bool pairs;  // two numbers in a byte, the first in its high bits
  uint8_t* q;
};

struct QuantizedKernels {
  const char* name;
  // By format and number of rows, 1 to max_rows; none for Groups.
  int max_rows;
  PanelFn multiply[kNumWeightFormats][kMaxSmallBatch + 1];
  // By number of planes: [Int8, Int4, Groups][planes - 1][rows], 1 to dot_rows[planes - 1].
  bool has_dot;  // the machine has an instruction for it
  int dot_rows[2];
  DotFn dot[3][2][kMaxDotRows + 1];
  int tile_lines;
  DotTilesFn dot_tiles[3][2];  // [Int8, Int4, Groups][planes - 1]
  // int4 weights as dot_tiles takes them.
  void (*unpack_int4)(const uint8_t* weights, int64_t k, int64_t group, uint8_t* bytes, float* scales);
  // Weights of groups, whole blocks, as dot and dot_tiles take them.
  void (*unpack_groups)(const uint8_t* weights, int64_t k, const GroupLayout& layout, uint8_t* bytes,
                        float* scales);
  void (*quantize_row)(const QuantizeRowArgs& args);
  // Weights of inputs [0, k) of a panel, whose numbers are not yet multiplied with Int8's scales, as blocks
  // of `lanes * 2` outputs: [64 / block][k][block].
  int lanes;
  void (*expand[kNumWeightFormats])(const uint8_t* weights, int64_t k, int64_t group, float* to);
  // The same of groups' bytes and scales, as unpack_groups gives them.
  void (*expand_groups)(const uint8_t* bytes, const float* scales, int64_t k, const GroupLayout& layout,
                        float* to);
  int tile_rows;
  void (*multiply_tiles)(const TilesArgs& args);
  void (*finish)(const FinishArgs& args);
  // The least and the largest weight of each group of a row; false where one of the row is not finite.
  bool (*find_extremes)(const float* x, int64_t k, int64_t group, float* least, float* most);
  void (*quantize_weights)(const QuantizeWeightsArgs& args);
};

// The best set this machine has, within WEFT_VECTOR_BYTES.
const QuantizedKernels& quantized_kernels();

extern const QuantizedKernels kQuantizedBaseline;

}  // namespace weft::kernels
