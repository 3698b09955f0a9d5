#include "device/cuda/rows.h"

namespace weft::cuda {

Tensor with_last(const Tensor& x, int64_t dim) {
  if (x.dim() == 0) return x;
  Shape shape = x.shape();
  Strides strides = x.strides();
  const auto to_end = [&](auto& list) {
    const auto own = list[static_cast<size_t>(dim)];
    list.erase(list.begin() + dim);
    list.push_back(own);
  };
  to_end(shape);
  to_end(strides);
  return x.as_strided(shape, strides, x.offset());
}

Rows rows_of(const Tensor& x, int64_t dim) {
  const int64_t length = x.dim() == 0 ? 1 : x.size(dim);
  return {with_last(x, dim).contiguous(), length == 0 ? 0 : x.numel() / length, length};
}

Tensor room_for_rows(const Tensor& result, int64_t dim) {
  const Tensor rows = with_last(result, dim);
  return rows.is_contiguous() ? rows : Tensor::empty(rows.shape(), result.dtype(), result.device());
}

void put_rows(const Tensor& result, int64_t dim, const Tensor& rows) {
  if (rows.data() != result.data()) with_last(result, dim).copy_from(rows);
}

}  // namespace weft::cuda
