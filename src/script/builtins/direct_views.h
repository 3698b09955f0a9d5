// Views of tensors that are not traced, made without an operator's call: most of a small view's time
// otherwise.
//
// Each gives an undefined tensor where the arguments are wrong, the tensor is traced or a view is not
// possible: the operator then does what is to be done, or says what is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/tensor.h"

namespace weft::jit::direct {

Tensor reshape(const Tensor& x, const std::vector<int64_t>& shape);  // of contiguous tensors
Tensor permute(const Tensor& x, const std::vector<int64_t>& dims);
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
Tensor unsqueeze(const Tensor& x, int64_t dim);
Tensor squeeze(const Tensor& x, const std::optional<std::vector<int64_t>>& dims);
Tensor select(const Tensor& x, int64_t dim, int64_t index);
Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> stop,
             int64_t step);
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor expand(const Tensor& x, const std::vector<int64_t>& shape);

}  // namespace weft::jit::direct
