// The table that written kernels are in (tools/write_kernels.cc). Included by code that is compiled for one
// level of instructions, so nothing of the standard library is.
#pragma once

namespace weft::kernels {

using BuiltParallelFor = void (*)(long begin, long end, long grain,
                                  void (*body)(void* context, long begin, long end), void* context);

struct BuiltKernel {
  const char* name;  // "erf_f32"
  void (*function)(void* const* arrays, const long* symbols, const void* const* functions,
                   BuiltParallelFor parallel_for);
  const signed char* arrays;  // by place: an operand's number, or -1 for the result
  int num_arrays;
};

struct BuiltKernels {
  const BuiltKernel* kernels;
  int count;
};

}  // namespace weft::kernels
