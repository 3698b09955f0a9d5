// Products of bfloat16 matrices on an engine (bfloat16_kernels.h): added in float32, a bias,
// too, and rounded once, as PyTorch does it.
#pragma once

#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/blas.h"

namespace weft::kernels {

inline const uint16_t* bits(const BFloat16* x) { return reinterpret_cast<const uint16_t*>(x); }

// c[m, n] (rows contiguous) = a[m, k] @ b[k, n] + bias[n] (or null). The order of a sum depends on the engine
// and on the sizes, not on the number of threads; a number below 2^-126 counts as zero, in the operands, in
// sums and in c. error: k * 2^-24 * sum(|a||b|), and 2^-8 of the result for its rounding.
void gemm_bfloat16(const BFloat16Kernels& kernels, int64_t m, int64_t n, int64_t k, MatrixView<BFloat16> a,
                   MatrixView<BFloat16> b, const BFloat16* bias, BFloat16* c);

// Panels by single elements, for any strides: what an engine's pack_rows and pack_columns compute.
// args.stride is that between rows.
void pack_panels_plainly(const PackPanelsArgs& args, int64_t column_stride);

}  // namespace weft::kernels
