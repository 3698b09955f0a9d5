// Elementwise copies between strided arrays of any two dtypes.
#pragma once

#include "weft/tensor.h"

namespace weft {

// One operand: the address of its first element and its strides in elements.
struct StridedPointer {
  void* data;
  DType dtype;
  const Strides& strides;
};

// destination[i] = source[i] for every index of `shape`, converted. Broadcast sources have zero strides.
// The two must not overlap unless they are the same elements in the same order. Parallel for large arrays.
void copy_strided(const StridedPointer& destination, const StridedPointer& source, const Shape& shape);

// n elements, strides in elements: the inner loop of the above.
using ConvertFn = void (*)(void* destination, int64_t destination_stride, const void* source,
                           int64_t source_stride, int64_t n);
ConvertFn convert_function(DType to, DType from);

}  // namespace weft
