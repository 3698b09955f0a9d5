// The innermost loops of int8 products with packed weights, compiled once per instruction set from
// int8_kernels.inc: exact sums in int32. This header is included where wider instructions are enabled than
// the machine may have: it must not bring in inline functions.
#pragma once

#include <cstdint>

namespace weft::kernels {

// Weights lie in panels of 32 columns, [depth / together][32][together] signed bytes.
inline constexpr int64_t kInt8Columns = 32;

// How the kernels take x: numbers of 16 bits, bytes that exceed their numbers by 128, or the numbers.
enum class Int8Inputs : uint8_t { Words, Exceeding, Signed };

// Up to `max_rows` rows of a times some panels.
struct Int8Tile {
  const void* a;  // [rows][a_bytes]
  int64_t a_bytes, rows;
  const int8_t* panels;
  int64_t panel_stride, num_panels, depth;  // depth: a multiple of depth_unit
  const int32_t* start;                     // [num_panels * 32]: what sums start at; zeros where Signed
  int32_t* sums;                            // [rows][sums_stride]
  int64_t sums_stride;
  // Where x is Exceeding: sums to go on from, laid out as `sums`, to which `start` is added; or null.
  const int32_t* before = nullptr;
  // The same: of the last panel, its first half alone is wanted.
  bool half = false;
};

// Columns of b, filled up with zeros to whole panels of padded_depth, panel_stride apart.
struct PackInt8Args {
  const int8_t* b;
  int64_t stride;  // between rows (pack_rows), between columns (pack_columns)
  int64_t columns, depth, padded_depth;
  int8_t* panels;
  int64_t panel_stride;
};

// What sums with columns of packed weights start at where x exceeds its numbers: -128 times the columns'
// sums.
struct Int8Starts {
  const int8_t* panels;
  int64_t panel_stride, num_panels, depth;
  int32_t* starts;  // [num_panels * 32]
};

// Few rows of a times columns that lie in rows, b[columns][b_stride]: inner products.
struct Int8Dots {
  const int8_t* a;  // [rows][a_stride]
  int64_t a_stride, rows, columns, depth;
  const int8_t* b;
  int64_t b_stride;
  const int32_t* starts;  // [rows]: -128 times the sums of a's rows
  int32_t* sums;          // [rows][sums_stride]
  int64_t sums_stride;
};

struct Int8Kernels {
  const char* name;
  int64_t max_rows, together, depth_unit;
  Int8Inputs inputs;
  void (*multiply)(const Int8Tile& tile);
  // Null: number by number.
  void (*pack_rows)(const PackInt8Args& args);     // b's rows are contiguous
  void (*pack_columns)(const PackInt8Args& args);  // b's columns are contiguous
  void (*start_sums)(const Int8Starts& args);      // beside packing, where x is Exceeding; or null
  void (*dots)(const Int8Dots& args);              // or null
};

// The best set this machine has, within WEFT_VECTOR_BYTES; tiles where they are measured to be faster.
const Int8Kernels& int8_kernels();

extern const Int8Kernels kInt8Baseline;

}  // namespace weft::kernels
