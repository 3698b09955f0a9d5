#include "compiler/parts.h"

#include <algorithm>

namespace weft::compiler {

Tensor part_of(const Tensor& tensor, const Shape& first, const Shape& shape) {
  int64_t offset = tensor.impl()->offset;
  for (size_t d = 0; d < first.size(); ++d) offset += first[d] * tensor.strides()[d];
  return tensor.as_strided(shape, tensor.strides(), offset);
}

Shape first_positions(const std::vector<std::pair<size_t, Sym>>& starts, const Shape& shape,
                      const std::vector<int64_t>& symbols) {
  Shape first(shape.size(), 0);
  for (const auto& [dim, start] : starts) first[dim] = start.evaluate(symbols);
  return first;
}

Tensor copy_around(const Tensor& base, const Shape& first, const Shape& part) {
  const Shape& shape = base.shape();
  const Tensor result = Tensor::empty(shape, base.dtype(), base.device());
  // What lies before and after the part along each dimension, within the part's range of the dimensions
  // before it.
  Shape from(shape.size(), 0), size = shape;
  const auto copy = [&](size_t dim, int64_t begin, int64_t length) {
    from[dim] = begin, size[dim] = length;
    if (std::find(size.begin(), size.end(), 0) == size.end())
      part_of(result, from, size).copy_from(part_of(base, from, size));
  };
  for (size_t d = 0; d < shape.size(); ++d) {
    copy(d, 0, first[d]);
    copy(d, first[d] + part[d], shape[d] - first[d] - part[d]);
    from[d] = first[d], size[d] = part[d];
  }
  return result;
}

}  // namespace weft::compiler
