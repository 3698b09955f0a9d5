// Walking several strided operands of one shape together, a row of the last dimension at a time.
#pragma once

#include <array>

#include "weft/tensor.h"

namespace weft::kernels {

// One row: offsets of its first elements, and the strides along it, in elements.
template <size_t N>
struct Row {
  std::array<int64_t, N> offset;
  std::array<int64_t, N> stride;
  int64_t size;
};

// Rows begin to end (C order of the leading dimensions) of `shape`.
template <size_t N, class F>
void for_each_row(const Shape& shape, const std::array<Strides, N>& strides, int64_t begin, int64_t end,
                  F&& body) {
  Row<N> row;
  const size_t ndim = shape.size();
  row.size = ndim ? shape.back() : 1;
  for (size_t k = 0; k < N; ++k) row.stride[k] = ndim ? strides[k].back() : 0;
  for (int64_t index = begin; index < end; ++index) {
    row.offset.fill(0);
    int64_t rest = index;
    for (size_t d = ndim > 0 ? ndim - 1 : 0; d-- > 0;) {
      const int64_t i = rest % shape[d];
      rest /= shape[d];
      for (size_t k = 0; k < N; ++k) row.offset[k] += i * strides[k][d];
    }
    body(row);
  }
}

inline int64_t num_rows(const Shape& shape) {
  const int64_t n = numel(shape);
  return n == 0 ? 0 : shape.empty() ? 1 : n / shape.back();
}

// f(type) with an unsigned type of the element's width: for kernels that only move elements.
struct Wide {
  uint64_t low, high;
};
template <class F>
void visit_width(int bytes, F&& f) {
  switch (bytes) {
    case 1: return f(std::type_identity<uint8_t>{});
    case 2: return f(std::type_identity<uint16_t>{});
    case 4: return f(std::type_identity<uint32_t>{});
    case 8: return f(std::type_identity<uint64_t>{});
    default: return f(std::type_identity<Wide>{});
  }
}

}  // namespace weft::kernels
