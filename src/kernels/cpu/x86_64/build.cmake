# How x86-64's levels are compiled; included by src/CMakeLists.txt.
set(WEFT_LLVM_TARGET X86)
# Of the precompiled preludes that come with the library (runtime/precompiled_prelude.h).
set(WEFT_PRELUDE_PROCESSORS x86-64-v2 x86-64-v3 x86-64-v4)
# Levels for which the kernels of eager operators are written: bytes of vectors, flags.
set(WEFT_BUILT_LEVELS avx2 avx512)
set(WEFT_BUILT_avx2 32 -march=x86-64-v3)
set(WEFT_BUILT_avx512 64 -march=x86-64-v4 -mprefer-vector-width=512)
# g++ 12 fuses the products of complex multiplications in spite of -ffp-contract=off.
target_compile_options(weft_operators PRIVATE -mno-fma)
target_compile_options(weft_loops PRIVATE -mno-fma)

# g++ 12 takes the undefined operands of its own headers for mistakes.
set(weft_intrinsics_quiet $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>)
weft_kernel_options(x86_64/finish_rows_avx2.cc -march=x86-64-v3 -ffp-contract=off)
weft_kernel_options(x86_64/finish_rows_avx512.cc -march=x86-64-v4 -mprefer-vector-width=512 -ffp-contract=off)
weft_kernel_options(x86_64/affine_rows_avx2.cc -O3 -march=x86-64-v3 -ffp-contract=off)
weft_kernel_options(x86_64/affine_rows_avx512.cc -O3 -march=x86-64-v4 -mprefer-vector-width=512 -ffp-contract=off)
weft_kernel_options(x86_64/int8_kernels_avx2.cc -march=x86-64-v3)
weft_kernel_options(x86_64/int8_kernels_avxvnni.cc -march=x86-64-v3 -mavxvnni)
weft_kernel_options(x86_64/int8_kernels_avx512.cc -march=x86-64-v4 -mprefer-vector-width=512)
weft_kernel_options(x86_64/int8_kernels_avx512vnni.cc -march=x86-64-v4 -mavx512vnni -mprefer-vector-width=512 ${weft_intrinsics_quiet})
weft_kernel_options(x86_64/gemm_kernels_avx2.cc -march=x86-64-v3)
weft_kernel_options(x86_64/gemm_kernels_avx512.cc -march=x86-64-v4 -mprefer-vector-width=512)
weft_kernel_options(x86_64/fft_kernels_avx2.cc -march=x86-64-v3)
weft_kernel_options(x86_64/fft_kernels_avx512.cc -march=x86-64-v4 -mprefer-vector-width=512)
weft_kernel_options(x86_64/attention_kernels_avx2.cc -O3 -march=x86-64-v3)
weft_kernel_options(x86_64/recurrent_kernels_avx2.cc -O3 -march=x86-64-v3)
weft_kernel_options(x86_64/cached_attention_kernels_avx2.cc -O3 -march=x86-64-v3)
weft_kernel_options(x86_64/attention_kernels_avx512.cc -O3 -march=x86-64-v4 -mprefer-vector-width=512)
weft_kernel_options(x86_64/recurrent_kernels_avx512.cc -O3 -march=x86-64-v4 -mprefer-vector-width=512)
weft_kernel_options(x86_64/quantized_kernels_avx2.cc -march=x86-64-v3)
weft_kernel_options(x86_64/quantized_kernels_avxvnni.cc -march=x86-64-v3 -mavxvnni)
weft_kernel_options(x86_64/quantized_kernels_avx512.cc -march=x86-64-v4 -mprefer-vector-width=512)
weft_kernel_options(x86_64/quantized_kernels_avx512vnni.cc -march=x86-64-v4 -mavx512vnni -mprefer-vector-width=512)
weft_kernel_options(x86_64/cached_attention_kernels_avx512.cc -O3 -march=x86-64-v4 -mprefer-vector-width=512)
weft_kernel_options(x86_64/sparse_products_avx2.cc -O3 -march=x86-64-v3 ${weft_intrinsics_quiet})
weft_kernel_options(x86_64/sparse_products_avx512.cc -O3 -march=x86-64-v4 -mprefer-vector-width=512 ${weft_intrinsics_quiet})
weft_kernel_options(x86_64/bfloat16_kernels_avx512.cc -march=x86-64-v4 -mavx512bf16 -mprefer-vector-width=512 ${weft_intrinsics_quiet})
weft_kernel_options(x86_64/bfloat16_kernels_amx.cc -march=x86-64-v4 -mavx512bf16 -mamx-tile -mamx-bf16 -mprefer-vector-width=512
  ${weft_intrinsics_quiet})
weft_kernel_options(x86_64/int8_kernels_amx.cc -march=x86-64-v4 -mamx-tile -mamx-int8 -mprefer-vector-width=512 ${weft_intrinsics_quiet})
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/core/x86_64/transpose_avx2.cc PROPERTIES
  COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>;-march=x86-64-v3")
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/runtime/x86_64/ceiling_loops_amx.cc PROPERTIES
  COMPILE_OPTIONS "-mamx-tile;-mamx-bf16;-mamx-int8")
