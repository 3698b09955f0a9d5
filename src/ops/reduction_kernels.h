// The inner loops of reductions, by operator and accumulation dtype.
#pragma once

#include <cstdint>

#include "ops/registry.h"

namespace weft::ops {

struct ReductionKernels {
  // *partial = the reduction of `count` >= 1 contiguous elements.
  void (*block)(void* partial, const void* elements, int64_t count) = nullptr;
  // accumulators[i] = combine(accumulators[i], elements[i])
  void (*combine)(void* accumulators, const void* elements, int64_t count) = nullptr;
  // partials[0] = the combination of `count` >= 1 partial results: neighbours, then neighbours among those, …
  void (*combine_pairs)(void* partials, int64_t count) = nullptr;
  // The value of an empty reduction: sum, prod, any, all.
  void (*identity)(void* partial) = nullptr;
};
// `accumulate` is no half type. Sum, Prod, Min, Max; Any and All over bool.
ReductionKernels reduction_kernels(ReduceOp op, DType accumulate);

// Feeds contiguous elements in order; keeps the first best value and its position. `best` holds the value.
using ArgBlock = void (*)(void* best, int64_t* best_index, const void* elements, int64_t first_index,
                          int64_t count);
ArgBlock arg_kernel(ReduceOp op, DType dtype);
// The same for columns side by side, one row of them at a time, from row 0 on: `best` and `best_row` hold one
// for each.
using ArgRows = void (*)(void* best, int32_t* best_row, const void* elements, int32_t row, int64_t count);
ArgRows arg_rows_kernel(ReduceOp op, DType dtype);
// The position of the first of `elements` that is the value, or NaN as it is; there is one.
using FindFirst = int64_t (*)(const void* elements, const void* value, int64_t count);
FindFirst find_first(DType dtype);

}  // namespace weft::ops
