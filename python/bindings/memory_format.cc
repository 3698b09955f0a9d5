#include "memory_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "errors.h"
#include "ops/iteration_order.h"
#include "weft/error.h"

namespace weft::python {

namespace {

// The dimensions from the one that lies widest in memory to the one that lies densest. Of a traced tensor
// with the sizes of this call, which are no guards: symbolic ones are neither 0 nor 1.
std::vector<int64_t> order_of(const Tensor& tensor, MemoryFormat format) {
  const Shape& shape = tensor.impl()->shape;
  const size_t ndim = shape.size();
  std::vector<int64_t> order(ndim);
  std::iota(order.begin(), order.end(), int64_t{0});
  if (format == MemoryFormat::Contiguous) return order;
  if (format != MemoryFormat::Preserve) {
    const size_t expected = format == MemoryFormat::ChannelsLast ? 4 : 5;
    WEFT_CHECK(ndim == expected,
               fmt::format("memory_format: expected {} dimensions for channels last, got {}", expected,
                           describe(tensor)));
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    return order;
  }
  const ops::Operand operand = tensor;
  const std::vector<int64_t> found = ops::iteration_order({&operand, 1});
  return found.empty() ? order : found;
}

// A copy of a tensor while it is traced, with its dimensions in this order in memory.
Tensor traced_in_order(const Tensor& tensor, const std::vector<int64_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return tensor.clone();
  return ops::with_order(ops::with_order(tensor, order).clone(), ops::inverse_order(order));
}

}  // namespace

MemoryFormat memory_format(nb::handle object, MemoryFormat otherwise) {
  if (object.is_none()) return otherwise;
  const std::string text = nb::cast<std::string>(nb::str(object));
  const std::string name = text.substr(text.rfind('.') + 1);
  if (name == "preserve_format") return MemoryFormat::Preserve;
  if (name == "contiguous_format") return MemoryFormat::Contiguous;
  if (name == "channels_last") return MemoryFormat::ChannelsLast;
  if (name == "channels_last_3d") return MemoryFormat::ChannelsLast3d;
  throw_error(ErrorKind::Type,
              fmt::format("memory_format: expected a memory_format, got {}", repr_text(object)));
}

Tensor clone_in(const Tensor& tensor, MemoryFormat format) {
  const std::vector<int64_t> order = order_of(tensor, format);
  if (tensor.is_traced()) return traced_in_order(tensor, order);
  if (std::is_sorted(order.begin(), order.end())) return tensor.clone();
  const Tensor result = Tensor::empty(tensor.shape(), tensor.dtype(), tensor.device())
                            .as_strided(tensor.shape(), ops::strides_in(order, tensor.shape()), 0);
  result.copy_from(tensor);
  return result;
}

Tensor in_order_of(const Tensor& tensor, const Tensor& other) {
  const std::vector<int64_t> order = order_of(other, MemoryFormat::Preserve);
  if (tensor.impl()->shape != other.impl()->shape || std::is_sorted(order.begin(), order.end()))
    return tensor;
  if (tensor.is_traced()) return traced_in_order(tensor, order);
  const Tensor result = Tensor::empty(tensor.shape(), tensor.dtype(), tensor.device())
                            .as_strided(tensor.shape(), ops::strides_in(order, tensor.shape()), 0);
  result.copy_from(tensor);
  return result;
}

bool lies_in(const Tensor& tensor, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return tensor.is_contiguous();
  if (tensor.dim() != (format == MemoryFormat::ChannelsLast ? 4 : 5)) return false;
  const Shape& shape = tensor.impl()->shape;
  const Strides wanted = ops::strides_in(order_of(tensor, format), shape);
  for (size_t d = 0; d < wanted.size(); ++d)
    if (shape[d] != 1 && tensor.strides()[d] != wanted[d]) return false;
  return true;
}

}  // namespace weft::python
