// The innermost loops of bfloat16 matrix products, once per engine: instructions that multiply pairs of
// bfloat16 numbers and add the products in float32. This header is included where wider instructions are
// enabled than the machine may have: it must not bring in inline functions. Numbers are their bits.
#pragma once

#include <cstdint>

namespace weft::kernels {

// The right operand lies in panels of 32 columns, [depth / 2][32][2]: what one column has for a pair of the
// left operand's numbers lies together. Sixteen columns of one pair are a vector, of sixteen pairs a tile of
// AMX.
inline constexpr int64_t kPairColumns = 32;

// Up to `max_rows` rows of a times some panels. Every sum is added in the order of the depth.
struct PairTile {
  const uint16_t* a;  // [rows][a_stride]
  int64_t a_stride, rows;
  const uint16_t* panels;
  int64_t panel_stride, num_panels, depth;  // depth: a multiple of depth_unit, or odd where that is taken
  const float* start;                       // [num_panels * 32] or null: added to the sums
  const float* before;                      // sums to go on from, laid out as `sums`; or null
  float* sums;                              // [rows][sums_stride], panels sums_step apart; where y is null
  int64_t sums_stride, sums_step;
  uint16_t* y;                // the sums, rounded: [rows][y_stride], `columns` of them
  int64_t y_stride, columns;  // columns: of all panels, with sums, too
  // Engines with tiles: as a, added to it number by number; or null.
  const uint16_t* low = nullptr;
};

// Few rows of a times columns that lie in rows, b[columns][b_stride]: inner products.
struct DotsArgs {
  const uint16_t* a;  // [rows][a_stride]
  int64_t a_stride, rows, columns, depth;
  const uint16_t* b;
  int64_t b_stride;
  const float* start;  // [columns] or null
  uint16_t* y;
  int64_t y_stride;
};

// Few rows of a times rows b[depth][b_stride] where they lie: combinations of these.
struct CombineArgs {
  const uint16_t* a;  // [rows][a_stride]
  int64_t a_stride, rows, columns, depth;
  const uint16_t* b;
  int64_t b_stride;
  const float* start;   // [columns] or null
  float* sums;          // room for [rows][sums_stride] of them
  int64_t sums_stride;  // columns, rounded up to 32, or more
  uint16_t* y;
  int64_t y_stride;
};

// Columns of b, filled up with zeros to whole panels of padded_depth, panel_stride apart.
struct PackPanelsArgs {
  const uint16_t* b;
  int64_t stride;  // between rows (pack_rows), between columns (pack_columns)
  int64_t columns, depth, padded_depth;
  uint16_t* panels;
  int64_t panel_stride;
};

// Sums of 32 columns' numbers in rows, turned: y[j][i] = sums[i][j] + start[i], rounded.
struct TurnedSums {
  const float* sums;  // [32][sums_stride], `rows` of the 32 used; columns rounded up to 16 readable
  int64_t sums_stride, rows, columns;
  const float* start;  // [rows] or null
  uint16_t* y;         // [columns][y_stride]
  int64_t y_stride;
};

// Weights of a panel of 64 columns as quantized_kernels.h has them, as two panels panel_stride apart.
struct ExpandArgs {
  const uint8_t* weights;
  int64_t depth, group;  // depth: of weights; group: of int4
  int64_t padded_depth;  // filled up with zeros
  uint16_t* panels;
  int64_t panel_stride;
  uint16_t* low = nullptr;  // expand_int4: what rounding left, rounded itself, as `panels`; or null
};

struct BFloat16Kernels {
  const char* name;
  int64_t max_rows, depth_unit;
  bool has_tiles;
  bool takes_odd_depth;  // multiply reads the last number of a alone; the panels' last pair ends with zeros
  // Until `release`, this thread's calls of multiply may keep the state of the tiles; null: there is none.
  void (*hold)();
  void (*release)();
  void (*multiply)(const PairTile& tile);
  void (*dots)(const DotsArgs& args);
  void (*combine)(const CombineArgs& args);
  void (*pack_rows)(const PackPanelsArgs& args);               // b's rows are contiguous
  void (*pack_columns)(const PackPanelsArgs& args);            // b's columns are contiguous
  void (*expand_int8)(const ExpandArgs& args);                 // exact
  void (*expand_int4)(const ExpandArgs& args);                 // scale * q + zero, rounded to nearest
  void (*round)(const float* x, int64_t count, uint16_t* to);  // to nearest, halves to even
  // x = high + low to 2^-17 of it, or 2^-126 where that is more: x rounded, and what that left, rounded.
  // Infinities and NaN are high's, with a low of zero.
  void (*split)(const float* x, int64_t count, uint16_t* high, uint16_t* low);
  void (*finish_turned)(const TurnedSums& args);
};

// The engine of this machine whose instructions are measured to be the fastest; null where float32's are as
// fast, or there is none.
const BFloat16Kernels* bfloat16_kernels();
// Those of an engine by its name (runtime/matrix_engines.h), "avx512-bf16" or "amx-bf16"; null where it is
// not usable.
const BFloat16Kernels* bfloat16_kernels_of(const char* engine);

}  // namespace weft::kernels
