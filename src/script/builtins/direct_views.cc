#include "script/builtins/direct_views.h"

#include <algorithm>
#include <utility>

namespace weft::jit::direct {
namespace {

using Ints = std::vector<int64_t>;

Tensor view_of(const Tensor& x, Shape shape, Strides strides, int64_t offset) {
  if (is_quantized(x.dtype())) return {};  // the operator keeps the scale
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = x.impl()->storage;
  impl->dtype = x.impl()->dtype;
  impl->device = x.impl()->device;
  impl->shape = std::move(shape);
  impl->strides = std::move(strides);
  impl->offset = offset;
  return Tensor(std::move(impl));
}

// Of `count` dimensions; nullopt when out of range.
std::optional<size_t> axis_of(int64_t dim, int64_t count) {
  if (dim < -count || dim >= count) return std::nullopt;
  return static_cast<size_t>(dim < 0 ? dim + count : dim);
}

// With the -1 replaced by what is left.
std::optional<Shape> complete_shape(const Shape& given, int64_t numel) {
  int64_t product = 1;
  std::optional<size_t> open;
  for (size_t d = 0; d < given.size(); ++d) {
    if (given[d] == -1 && !open)
      open = d;
    else if (given[d] < 0 || __builtin_mul_overflow(product, given[d], &product))
      return std::nullopt;
  }
  if (!open) return product == numel ? std::optional(given) : std::nullopt;
  if (product == 0 || numel % product != 0) return std::nullopt;
  Shape shape = given;
  shape[*open] = numel / product;
  return shape;
}

}  // namespace

Tensor reshape(const Tensor& x, const Ints& given) {
  if (x.is_traced() || !x.is_contiguous()) return {};
  std::optional<Shape> shape = complete_shape(given, x.numel());
  if (!shape) return {};
  Strides strides = contiguous_strides(*shape);
  return view_of(x, *std::move(shape), std::move(strides), x.offset());
}

Tensor permute(const Tensor& x, const Ints& dims) {
  const size_t count = x.impl()->shape.size();
  if (x.is_traced() || dims.size() != count || count > 64) return {};
  Shape shape(count);
  Strides strides(count);
  uint64_t seen = 0;
  for (size_t d = 0; d < count; ++d) {
    const auto axis = axis_of(dims[d], x.dim());
    if (!axis || (seen >> *axis & 1)) return {};
    seen |= uint64_t{1} << *axis;
    shape[d] = x.shape()[*axis];
    strides[d] = x.strides()[*axis];
  }
  return view_of(x, std::move(shape), std::move(strides), x.offset());
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  if (x.is_traced()) return {};
  const auto a = axis_of(dim0, x.dim()), b = axis_of(dim1, x.dim());
  if (!a || !b) return {};
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[*a], shape[*b]);
  std::swap(strides[*a], strides[*b]);
  return view_of(x, std::move(shape), std::move(strides), x.offset());
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  if (x.is_traced()) return {};
  const auto axis = axis_of(dim, x.dim() + 1);
  if (!axis) return {};
  Shape shape = x.shape();
  Strides strides = x.strides();
  const int64_t stride = *axis < shape.size() ? shape[*axis] * strides[*axis] : 1;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), 1);
  strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(*axis), stride);
  return view_of(x, std::move(shape), std::move(strides), x.offset());
}

Tensor squeeze(const Tensor& x, const std::optional<Ints>& dims) {
  if (x.is_traced() || x.dim() > 64) return {};
  uint64_t candidates = dims ? 0 : ~uint64_t{0};
  for (const int64_t dim : dims ? *dims : Ints()) {
    const auto axis = axis_of(dim, x.dim());
    if (!axis || (candidates >> *axis & 1)) return {};
    candidates |= uint64_t{1} << *axis;
  }
  Shape shape;
  Strides strides;
  for (size_t d = 0; d < x.shape().size(); ++d) {
    if (x.shape()[d] == 1 && (candidates >> d & 1)) continue;
    shape.push_back(x.shape()[d]);
    strides.push_back(x.strides()[d]);
  }
  return view_of(x, std::move(shape), std::move(strides), x.offset());
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  if (x.is_traced()) return {};
  const auto axis = axis_of(dim, x.dim());
  if (!axis) return {};
  const auto position = axis_of(index, x.shape()[*axis]);
  if (!position) return {};
  Shape shape = x.shape();
  Strides strides = x.strides();
  const int64_t offset = x.offset() + static_cast<int64_t>(*position) * strides[*axis];
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(*axis));
  return view_of(x, std::move(shape), std::move(strides), offset);
}

Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> stop,
             int64_t step) {
  if (x.is_traced() || step <= 0) return {};
  const auto axis = axis_of(dim, x.dim());
  if (!axis) return {};
  const int64_t size = x.shape()[*axis];
  const auto bound = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t first = bound(start.value_or(0)), last = std::max(first, bound(stop.value_or(size)));
  Shape shape = x.shape();
  Strides strides = x.strides();
  const int64_t offset = x.offset() + first * strides[*axis];
  shape[*axis] = (last - first) / step + ((last - first) % step != 0);
  if (__builtin_mul_overflow(strides[*axis], step, &strides[*axis])) return {};
  return view_of(x, std::move(shape), std::move(strides), offset);
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  if (x.is_traced()) return {};
  const auto axis = axis_of(dim, x.dim());
  if (!axis) return {};
  const int64_t size = x.shape()[*axis];
  const int64_t first = start < 0 ? start + size : start;
  if (first < 0 || first > size || length < 0 || length > size - first) return {};
  return slice(x, dim, first, first + length, 1);
}

Tensor expand(const Tensor& x, const Ints& given) {
  if (x.is_traced() || given.size() < x.shape().size()) return {};
  const size_t added = given.size() - x.shape().size();
  Shape shape = given;
  Strides strides(given.size(), 0);
  for (size_t d = 0; d < given.size(); ++d) {
    if (d < added) {
      if (given[d] < 0) return {};
      continue;
    }
    const int64_t size = x.shape()[d - added];
    if (given[d] == -1) shape[d] = size;
    if (shape[d] < 0 || (shape[d] != size && size != 1)) return {};
    if (shape[d] == size) strides[d] = x.strides()[d - added];
  }
  return view_of(x, std::move(shape), std::move(strides), x.offset());
}

}  // namespace weft::jit::direct
