#include "capture/values/memory_order.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ops/registry.h"
#include "ops/tracer.h"

namespace weft::capture {

namespace {

AxisOrder all_axes(int64_t ndim) {
  AxisOrder order(static_cast<size_t>(ndim));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

AxisOrder normalized(AxisOrder order) {
  if (std::is_sorted(order.begin(), order.end())) order.clear();
  return order;
}

// No stride is larger than one before it, whatever sizes are one.
bool is_plain(const Tensor& tensor) {
  int64_t last = INT64_MAX;
  for (int64_t stride : tensor.impl()->strides) {
    if (stride == 0) continue;
    if (std::abs(stride) > last) return false;
    last = std::abs(stride);
  }
  return true;
}

// Insertion sort as NumPy's: each axis goes before those that it must precede in all operands that decide.
// `decides`: of an operand and two axes. Where none does, the next axis is asked.
template <class Decides, class Precedes>
AxisOrder sorted_axes(AxisOrder order, size_t num_operands, const Decides& decides,
                      const Precedes& precedes) {
  for (size_t i = 1; i < order.size(); ++i) {
    const auto axis = static_cast<size_t>(order[i]);
    size_t position = i;
    for (size_t j = i; j-- > 0;) {
      const auto other = static_cast<size_t>(order[j]);
      bool is_known = false, goes_before = true;
      for (size_t k = 0; k < num_operands; ++k) {
        if (!decides(k, axis, other)) continue;
        is_known = true;
        goes_before &= precedes(k, axis, other);
      }
      if (!is_known) continue;
      if (!goes_before) break;
      position = j;
    }
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(position),
                order.begin() + static_cast<std::ptrdiff_t>(i),
                order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return order;
}

}  // namespace

AxisOrder fortran_order(int64_t ndim) {
  AxisOrder order = all_axes(ndim);
  std::reverse(order.begin(), order.end());
  return normalized(std::move(order));
}

Strides deciding_strides(const Tensor& tensor) {
  const SymShape shape = ops::sym_shape(tensor);
  Strides strides;
  for (size_t d = 0; d < shape.size(); ++d)
    strides.push_back(sym_eq(shape[d], Sym(1)) ? 0 : std::abs(tensor.impl()->strides[d]));
  return strides;
}

AxisOrder iteration_order(const std::vector<Strides>& operands, int64_t ndim) {
  // Iterators sort from the innermost axis.
  AxisOrder order = all_axes(ndim);
  std::reverse(order.begin(), order.end());
  order = sorted_axes(
      std::move(order), operands.size(),
      [&](size_t k, size_t a, size_t b) { return operands[k][a] && operands[k][b]; },
      [&](size_t k, size_t a, size_t b) { return operands[k][a] < operands[k][b]; });
  std::reverse(order.begin(), order.end());
  return normalized(std::move(order));
}

AxisOrder iteration_order(const std::vector<Tensor>& operands, int64_t ndim) {
  if (ndim < 2 || std::all_of(operands.begin(), operands.end(), is_plain)) return {};
  std::vector<Strides> strides;
  for (const Tensor& operand : operands) {
    strides.push_back(deciding_strides(operand));
    strides.back().insert(strides.back().begin(), static_cast<size_t>(ndim) - strides.back().size(), 0);
  }
  return iteration_order(strides, ndim);
}

AxisOrder order_if_fortran(const Tensor& tensor) {
  return is_contiguous(tensor, true) && !is_contiguous(tensor, false) ? fortran_order(tensor.dim())
                                                                      : AxisOrder();
}

AxisOrder copy_order(const V& array) {
  if (!array->view_of && array->input < 0 && !array->read_only) return array->order;
  if (is_contiguous(array->tensor, false)) return {};
  if (is_contiguous(array->tensor, true)) return fortran_order(array->tensor.dim());
  const Strides& strides = array->tensor.impl()->strides;
  AxisOrder order = all_axes(array->tensor.dim());
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::abs(strides[static_cast<size_t>(a)]) > std::abs(strides[static_cast<size_t>(b)]);
  });
  return normalized(std::move(order));
}

AxisOrder joined_order(const std::vector<Tensor>& parts) {
  const int64_t ndim = parts.at(0).dim();
  const auto is_dense = [](const Tensor& part) {
    const Strides& strides = part.impl()->strides;
    return is_plain(part) && std::find(strides.begin(), strides.end(), 0) == strides.end();
  };
  if (ndim < 2 || std::all_of(parts.begin(), parts.end(), is_dense)) return {};
  std::vector<Strides> strides;
  std::vector<std::vector<bool>> is_one;
  for (const Tensor& part : parts) {
    strides.emplace_back();
    is_one.emplace_back();
    for (Sym size : ops::sym_shape(part)) is_one.back().push_back(sym_eq(size, Sym(1)));
    for (int64_t stride : part.impl()->strides) strides.back().push_back(std::abs(stride));
  }
  return normalized(sorted_axes(
      all_axes(ndim), parts.size(),
      [&](size_t k, size_t a, size_t b) { return !is_one[k][a] && !is_one[k][b]; },
      [&](size_t k, size_t a, size_t b) { return strides[k][a] > strides[k][b]; }));
}

AxisOrder dense_order(const Tensor& tensor) {
  const Shape& shape = tensor.impl()->shape;
  const Strides& strides = tensor.impl()->strides;
  AxisOrder order = all_axes(tensor.dim());
  // A dimension of one element lies within the one of its stride.
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
    const auto a = static_cast<size_t>(x), b = static_cast<size_t>(y);
    return strides[a] != strides[b] ? strides[a] > strides[b] : shape[a] > 1 && shape[b] == 1;
  });
  return normalized(std::move(order));
}

AxisOrder without_axes(const AxisOrder& order, const std::vector<int64_t>& axes, int64_t ndim,
                       bool keepdims) {
  if (order.empty() || keepdims) return order;
  const auto goes = [&](int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  std::vector<int64_t> place(static_cast<size_t>(ndim), 0);
  int64_t left = 0;
  for (int64_t d = 0; d < ndim; ++d)
    if (!goes(d)) place[static_cast<size_t>(d)] = left++;
  AxisOrder rest;
  for (int64_t axis : order)
    if (!goes(axis)) rest.push_back(place[static_cast<size_t>(axis)]);
  return normalized(std::move(rest));
}

bool is_contiguous(const Tensor& tensor, bool fortran) {
  const Shape& shape = tensor.impl()->shape;
  const Strides& strides = tensor.impl()->strides;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  int64_t expected = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t d = fortran ? i : shape.size() - 1 - i;
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

AxisOrder inverse(const AxisOrder& order) {
  AxisOrder result(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return result;
}

Tensor to_order(const Tensor& tensor, const AxisOrder& order) {
  return ops::call1("permute", {tensor}, {{"dims", SymShape(order.begin(), order.end())}});
}

V laid_out(V array, AxisOrder order) {
  array->order = normalized(std::move(order));
  ops::Tracer* tracer = ops::current_tracer();
  if (!tracer || !array->tensor.is_traced() || array->flavor != Flavor::NdArray) return array;
  Shape shape;
  for (int64_t axis : array->order) shape.push_back(array->tensor.impl()->shape[static_cast<size_t>(axis)]);
  Strides strides = contiguous_strides(array->order.empty() ? array->tensor.impl()->shape : shape);
  if (!array->order.empty()) {
    Strides placed(strides.size());
    for (size_t i = 0; i < strides.size(); ++i) placed[static_cast<size_t>(array->order[i])] = strides[i];
    strides = std::move(placed);
  }
  if (strides != array->tensor.impl()->strides)
    array->tensor = tracer->with_strides(array->tensor, std::move(strides));
  return array;
}

V laid_out_in_batches(V array, const std::vector<Tensor>& operands, int64_t num_inner) {
  int64_t num_outer = 0;
  for (const Tensor& operand : operands) num_outer = std::max(num_outer, operand.dim() - num_inner);
  if (num_outer < 2 || std::all_of(operands.begin(), operands.end(), is_plain)) return array;
  std::vector<Strides> strides;
  for (const Tensor& operand : operands) {
    if (operand.dim() <= num_inner) continue;
    strides.push_back(deciding_strides(operand));
    strides.back().resize(strides.back().size() - static_cast<size_t>(num_inner));
    strides.back().insert(strides.back().begin(), static_cast<size_t>(num_outer) - strides.back().size(), 0);
  }
  AxisOrder order = iteration_order(strides, num_outer);
  if (order.empty()) return array;
  for (int64_t d = num_outer; d < array->tensor.dim(); ++d) order.push_back(d);
  return laid_out(std::move(array), std::move(order));
}

Tensor with_strides_of(const Tensor& tensor, const Tensor& operand) {
  ops::Tracer* tracer = ops::current_tracer();
  if (!tracer || !tensor.is_traced() || !operand.is_traced() || tensor.impl() == operand.impl())
    return tensor;
  return tracer->with_strides(tensor, operand.impl()->strides);
}

V laid_out_as(V array, const std::vector<V>& operands) {
  std::vector<Tensor> tensors;
  for (const V& operand : operands)
    if (operand->kind == Kind::Array && operand->tensor.dim() > 1) tensors.push_back(operand->tensor);
  return laid_out(std::move(array), iteration_order(tensors, array->tensor.dim()));
}

}  // namespace weft::capture
