// Products of float16 matrices on tiles of bfloat16 (bfloat16_kernels.h): a number of float16 is two of
// bfloat16, exactly, so that four products of these, added in float32, are one of float16.
#pragma once

#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/blas.h"

namespace weft::kernels {

// From so many rows on, packing b takes less than the tiles gain.
inline constexpr int64_t kFewestRowsOfFloat16Tiles = 64;

// c[m, n] (rows contiguous) = a[m, k] @ b[k, n] + bias[n] (or null), rounded once, on an engine with tiles.
// False, and c is not written, where a or b has an infinity or NaN: its parts would meet zeros.
// error: 4 * k * 2^-24 * sum(|a||b|), and 2^-11 of the result for its rounding.
bool gemm_float16(const BFloat16Kernels& engine, int64_t m, int64_t n, int64_t k, MatrixView<Half> a,
                  MatrixView<Half> b, const Half* bias, Half* c);

}  // namespace weft::kernels
