// The kernels of x86-64's levels, each compiled for its instructions (build.cmake). This header is included
// where wider instructions are enabled than the machine may have: it must not bring in inline functions.
#pragma once

#include "kernels/cpu/affine_rows.h"
#include "kernels/cpu/attention_kernels.h"
#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/cached_attention_kernels.h"
#include "kernels/cpu/fft_kernels.h"
#include "kernels/cpu/finish_rows.h"
#include "kernels/cpu/gemm_kernels.h"
#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/quantized_kernels.h"
#include "kernels/cpu/recurrent_kernels.h"
#include "kernels/cpu/sparse_products.h"

namespace weft::kernels {

extern const AffineKernels kAffineAvx2, kAffineAvx512;
extern const AttentionKernels kAttentionAvx2, kAttentionAvx512;
extern const CachedAttentionKernels kCachedAttentionAvx2, kCachedAttentionAvx512;
extern const FftKernels<float> kFft32Avx2, kFft32Avx512;
extern const FftKernels<double> kFft64Avx2, kFft64Avx512;
extern const GateKernels kGatesAvx2, kGatesAvx512;
extern const GemmKernels kGemmKernelsAvx2, kGemmKernelsAvx512;
extern const Int8Kernels kInt8Avx2, kInt8AvxVnni, kInt8Avx512, kInt8Avx512Vnni, kInt8Amx;
extern const QuantizedKernels kQuantizedAvx2, kQuantizedAvxVnni, kQuantizedAvx512, kQuantizedAvx512Vnni;
void finish_rows_avx2(const FinishRowsArgs& args);
void finish_rows_avx512(const FinishRowsArgs& args);
void dots_int8_avx512vnni(const Int8Dots& args);  // processors with tiles have its instructions, too

extern const BFloat16Kernels kBFloat16Avx512;
void multiply_amx(const PairTile& tile);  // of up to 32 rows, depth_unit 32
void hold_amx();
void release_amx();

namespace detail {
void sparse_rows_avx2(int64_t m, const float* x, const SparseWeight& weight, const float* bias, float* out,
                      int64_t begin, int64_t end);
void sparse_rows_avx512(int64_t m, const float* x, const SparseWeight& weight, const float* bias, float* out,
                        int64_t begin, int64_t end);
}  // namespace detail

}  // namespace weft::kernels
