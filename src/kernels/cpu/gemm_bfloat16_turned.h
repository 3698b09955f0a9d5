// A part of gemm_bfloat16.
#pragma once

#include "kernels/cpu/bfloat16_kernels.h"

namespace weft::kernels {

struct BitsView {
  const uint16_t* data;
  int64_t row_stride, column_stride;
};

// c[m, n] = a @ b + start, where b's columns are contiguous (weights of a layer, in rows). They are
// read where they lie, as the left operand of the product's transpose; a is packed in their place.
void turned_product(const BFloat16Kernels& kernels, int64_t m, int64_t n, int64_t k, BitsView a, BitsView b,
                    const float* start, uint16_t* c);

}  // namespace weft::kernels
