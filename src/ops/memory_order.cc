#include "ops/memory_order.h"

#include <algorithm>
#include <string>

namespace weft::ops {
namespace {

// Empty: C order.
std::string order_of(const Attrs& attrs) {
  const Attr* const found = attrs.find(kMemoryOrder);
  return found ? std::get<std::string>(*found) : std::string();
}

Shape constants(const SymShape& sizes) {
  Shape result;
  for (const Sym& size : sizes) result.push_back(size.constant());
  return result;
}

}  // namespace

void choose_memory_order(const OpDef& op, std::span<const Tensor> operands, Attrs& attrs) {
  if (!op.result_order || attrs.find(kMemoryOrder)) return;
  const std::vector<int64_t> order = op.result_order(operands);
  if (std::is_sorted(order.begin(), order.end()) || order.size() > 10) return;
  std::string text;
  for (const int64_t dim : order) text += static_cast<char>('0' + dim);
  attrs.set(kMemoryOrder, text);
}

SymShape result_strides(const Attrs& attrs, const SymShape& shape) {
  const std::string order = order_of(attrs);
  SymShape strides(shape.size());
  Sym stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    const size_t d = order.empty() ? i : static_cast<size_t>(order[i] - '0');
    strides[d] = stride;
    stride = stride * shape[d];
  }
  return strides;
}

Tensor in_memory_order(const Attrs& attrs, const Tensor& tensor) {
  if (order_of(attrs).empty() || tensor.numel() == 0) return tensor.contiguous();
  const TensorType type = type_of(tensor);
  const Strides expected = constants(result_strides(attrs, type.shape));
  bool lies_so = true;
  for (size_t d = 0; d < expected.size(); ++d)
    lies_so = lies_so && (tensor.shape()[d] == 1 || tensor.strides()[d] == expected[d]);
  if (lies_so) return tensor;
  const Tensor result = empty_result(attrs, type);
  result.copy_from(tensor);
  return result;
}

Tensor empty_result(const Attrs& attrs, const TensorType& type) {
  const Shape shape = constants(type.shape);
  const Tensor room = Tensor::empty(shape, type.dtype, type.device);
  if (order_of(attrs).empty() || room.numel() == 0) return room;
  return room.as_strided(shape, constants(result_strides(attrs, type.shape)), 0);
}

}  // namespace weft::ops
