// Reading a tensor through one table of positions per dimension: padding, nearest-neighbour interpolation.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/scalar.h"
#include "weft/tensor.h"

namespace weft::kernels {

// Position in the input for every position of the result along a dimension; -1 for the fill value. An empty
// map of a dimension leaves it as it is.
using AxisMap = std::vector<int64_t>;

// result[i, j, …] = x[maps[0][i], maps[1][j], …]; one map per dimension of x, any strides.
Tensor read_through(const Tensor& x, const std::vector<AxisMap>& maps, Scalar fill = Scalar(0));

}  // namespace weft::kernels
