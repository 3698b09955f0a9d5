#include "ops/iteration_order.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ops/build.h"
#include "ops/pointwise_loop.h"

namespace weft::ops {
namespace {

struct Axis {
  int64_t size = 1, stride = 0;
};

// A dimension of the common shape along an operand.
Axis axis_of(const Tensor& operand, int64_t ndim, int64_t dim) {
  const int64_t own = dim - (ndim - operand.dim());
  if (own < 0) return {};
  const auto d = static_cast<size_t>(own);
  return {operand.impl()->shape[d], std::abs(operand.impl()->strides[d])};
}

const Tensor* decisive(const Operand& operand) {
  const Tensor* const tensor = std::get_if<Tensor>(&operand);
  return tensor != nullptr && tensor->defined() && tensor->dim() > 0 ? tensor : nullptr;
}

// Negative: `inner` lies within `outer` already; positive: it is the other way around; 0: no operand says.
int compare(std::span<const Operand> operands, std::span<const int64_t> shape, int64_t inner, int64_t outer) {
  const auto ndim = static_cast<int64_t>(shape.size());
  const auto is_repeated = [&](const Axis& axis, int64_t dim) {
    return axis.stride == 0 || (axis.size == 1 && shape[static_cast<size_t>(dim)] != 1);
  };
  for (const Operand& operand : operands) {
    const Tensor* const tensor = decisive(operand);
    if (tensor == nullptr) continue;
    const Axis a = axis_of(*tensor, ndim, inner), b = axis_of(*tensor, ndim, outer);
    if (is_repeated(a, inner) || is_repeated(b, outer)) continue;
    if (a.stride != b.stride) return a.stride < b.stride ? -1 : 1;
    if (a.size > b.size) return 1;
  }
  return 0;
}

// Of as many dimensions.
Tensor aligned(Tensor x, size_t ndim) {
  while (x.impl()->shape.size() < ndim) x = build::unsqueeze(x, 0);
  return x;
}

}  // namespace

Strides strides_in(const std::vector<int64_t>& order, const Shape& shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = stride;
    stride *= std::max<int64_t>(shape[d], 1);
  }
  return strides;
}

Tensor with_order(const Tensor& x, const std::vector<int64_t>& order) {
  if (x.is_traced()) return build::permute(x, order);
  return with_dimensions(x, std::vector<size_t>(order.begin(), order.end()));
}

std::vector<int64_t> inverse_order(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

std::vector<int64_t> iteration_order(std::span<const Operand> operands) {
  bool is_plain = true;
  std::vector<int64_t> shape;
  for (const Operand& operand : operands) {
    const Tensor* const tensor = decisive(operand);
    if (tensor == nullptr) continue;
    const Shape& own = tensor->impl()->shape;
    is_plain = is_plain && (own.size() < 2 ||
                            std::is_sorted(tensor->impl()->strides.rbegin(), tensor->impl()->strides.rend()));
    if (own.size() > shape.size()) shape.insert(shape.begin(), own.size() - shape.size(), 1);
    for (size_t i = 1; i <= own.size(); ++i) {
      int64_t& size = shape[shape.size() - i];
      if (size == 1) size = own[own.size() - i];
      if (own[own.size() - i] != size && own[own.size() - i] != 1)
        return {};  // an error, in the order that was given
    }
  }
  if (is_plain) return {};
  // From the innermost, each before those that it lies within.
  std::vector<int64_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), int64_t{0});
  for (size_t i = 1; i < order.size(); ++i) {
    for (size_t j = i, k = i; k-- > 0;) {
      const int comparison = compare(operands, shape, order[k], order[j]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[k], order[j]);
      j = k;
    }
  }
  std::reverse(order.begin(), order.end());
  if (std::is_sorted(order.begin(), order.end())) order.clear();
  return order;
}

Tensor in_order_of_operands(std::span<const Operand> operands,
                            const std::function<Tensor(std::span<const Operand>)>& compute) {
  const std::vector<int64_t> order = iteration_order(operands);
  if (order.empty()) return compute(operands);
  std::vector<Operand> seen(operands.begin(), operands.end());
  for (Operand& operand : seen)
    if (decisive(operand) != nullptr)
      operand = with_order(aligned(std::get<Tensor>(operand), order.size()), order);
  return with_order(compute(seen), inverse_order(order));
}

Tensor to_in_order(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const Operand operand = x;
  return in_order_of_operands(
      {&operand, 1}, [&](std::span<const Operand> seen) { return std::get<Tensor>(seen[0]).to(dtype); });
}

Tensor invoke_in_order(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) {
  return in_order_of_operands(
      operands, [&](std::span<const Operand> seen) { return invoke(op, seen, attrs, Promotion::Torch); });
}

}  // namespace weft::ops
