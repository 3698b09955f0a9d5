// Tensors as rows along one dimension, as kernels for rows want them.
#pragma once

#include <cstdint>

#include "weft/tensor.h"

namespace weft::cuda {

// x[…] with `dim` last.
Tensor with_last(const Tensor& x, int64_t dim);

struct Rows {
  Tensor dense;  // with the dimension last, in one piece
  int64_t count, length;
};
Rows rows_of(const Tensor& x, int64_t dim);

// Where rows of results are written before they go to where `result` has them: itself if they are rows there.
Tensor room_for_rows(const Tensor& result, int64_t dim);
void put_rows(const Tensor& result, int64_t dim, const Tensor& rows);

}  // namespace weft::cuda
