// Transposing matrices of elements of 1, 2, 4 or 8 bytes, once per instruction set.
#pragma once

#include <cstdint>

namespace weft {

// to[i * to_stride + j] = from[j * from_stride + i] for i of `rows`, at most kTransposedRows, and j of
// `columns`; strides in elements.
using Transpose = void (*)(void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t rows,
                           int64_t columns);
inline constexpr int64_t kTransposedRows = 32;

// By the element's size: of 1, 2, 4 and 8 bytes.
struct TransposeFunctions {
  Transpose by_size[4];
};
extern const TransposeFunctions kTransposeBaseline;
// Of this machine: in the folder of its architecture.
const TransposeFunctions& transpose_functions();
// The same by the element's size; null for elements of another size.
Transpose transpose_function(int64_t element_size);

}  // namespace weft
