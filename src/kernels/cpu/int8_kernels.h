// The innermost loops of int8 products with packed weights, compiled once per instruction set from
// int8_kernels.inc: exact sums in int32. This header is included where wider instructions are enabled than
// the machine may have: it must not bring in inline functions.
#pragma once

#include <cstdint>

namespace weft::kernels {

// Weights lie in panels of 32 columns, [depth / depth_unit][32][depth_unit] signed bytes.
inline constexpr int64_t kInt8Columns = 32;

// Up to `max_rows` rows of a times some panels.
struct Int8Tile {
  const void* a;  // [rows][a_stride]: bytes that exceed their numbers by 128 (depth_unit 4), or int16 (2)
  int64_t a_stride, rows;
  const int8_t* panels;
  int64_t panel_stride, num_panels, depth;  // depth: a multiple of depth_unit
  const int32_t* start;                     // [num_panels * 32]: what sums start at
  int32_t* sums;                            // [rows][sums_stride]
  int64_t sums_stride;
};

struct Int8Kernels {
  const char* name;
  int64_t max_rows, depth_unit;
  void (*multiply)(const Int8Tile& tile);
};

// The best set this machine has, within WEFT_VECTOR_BYTES.
const Int8Kernels& int8_kernels();
// By its name: "baseline", "avx2", "avxvnni", "avx512", "avx512vnni"; null where it is not usable.
const Int8Kernels* int8_kernels_of(const char* name);

extern const Int8Kernels kInt8Baseline;
#if defined(__x86_64__)
extern const Int8Kernels kInt8Avx2, kInt8AvxVnni, kInt8Avx512, kInt8Avx512Vnni;
#endif

}  // namespace weft::kernels
