# How the levels of 64-bit ARM are compiled; included by src/CMakeLists.txt.
set(WEFT_LLVM_TARGET AArch64)
# Of the precompiled preludes that come with the library (runtime/precompiled_prelude.h).
set(WEFT_PRELUDE_PROCESSORS armv8-a)
# No kernels are written for eager operators: their own loops run.
set(WEFT_BUILT_LEVELS)

foreach(kind int8 quantized)
  weft_kernel_options(aarch64/${kind}_kernels_dotprod.cc -march=armv8.2-a+dotprod)
  weft_kernel_options(aarch64/${kind}_kernels_i8mm.cc -march=armv8.2-a+dotprod+i8mm)
endforeach()
