// Parts of tensors that updates replace: ranges of every dimension.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "weft/sym.h"
#include "weft/tensor.h"

namespace weft::compiler {

// The part of a tensor that begins at `first`.
Tensor part_of(const Tensor& tensor, const Shape& first, const Shape& shape);
// Where a part begins whose starts are given for some dimensions; it is 0 in the others.
Shape first_positions(const std::vector<std::pair<size_t, Sym>>& starts, const Shape& shape,
                      const std::vector<int64_t>& symbols);
// A new tensor that is `base` but for the part that begins at `first`, which is left open.
Tensor copy_around(const Tensor& base, const Shape& first, const Shape& part);

}  // namespace weft::compiler
