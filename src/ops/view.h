// Index arithmetic that views, Python indexing and captures share.
#pragma once

#include <optional>
#include <string_view>

#include "weft/sym.h"
#include "weft/tensor.h"

namespace weft::ops {

// A slice with nothing left to interpret: element i of the result is element start + i * step, for i <
// length. `stop` is start + length * step, clipped to -1 from below: a negative step runs down to index stop
// + 1.
struct SliceRange {
  Sym start, stop;
  int64_t step = 1;
  Sym length;
};

// NumPy's start:stop:step over a dimension of `size`: negative ends count from the end, ends outside are
// clipped. ValueError for step 0. Symbolic ends are decided with guards.
SliceRange normalize_slice(std::string_view op, std::optional<Sym> start, std::optional<Sym> stop,
                           int64_t step, Sym size);

// index in [-size, size) -> [0, size); IndexError in NumPy's words.
Sym normalize_index(Sym index, Sym size, int64_t axis);

// Strides with which `target` views the same elements in C order, where they exist.
std::optional<Strides> view_strides(const Shape& shape, const Strides& strides, const Shape& target);

// Elements of another dtype in the same memory: of `real`, `imag` and `bitcast` as views.
Strides part_strides(std::string_view op, Strides strides, DType from, DType to);
Tensor memory_part(std::string_view op, const Tensor& tensor, DType to);

// The shape a reshape to `shape` gives: one -1 is computed. ValueError when the element counts differ.
SymShape resolve_shape(std::string_view op, const SymShape& from, const SymShape& shape);

}  // namespace weft::ops
