#include "ops/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace weft::ops {
namespace {

double count_of(const Tensor& tensor) { return static_cast<double>(numel(tensor.impl()->shape)); }

// Elements that a broadcast shows several times are read once.
double bytes_of(const Tensor& tensor) {
  return std::min(count_of(tensor) * itemsize(tensor.dtype()),
                  static_cast<double>(tensor.storage()->nbytes()));
}

double last_size(const Tensor& tensor) {
  const Shape& shape = tensor.impl()->shape;
  return shape.empty() ? 1 : static_cast<double>(shape.back());
}

double product_of(const OpDef& op, std::span<const Tensor> operands, const Tensor& result,
                  const Attrs& attrs) {
  const double results = count_of(result);
  if (op.name == "matmul" || op.name == "linear_half" || op.name == "linear_fused" ||
      op.name == "linear_packed")
    return 2 * results * last_size(operands[0]);
  const double weights = count_of(operands[1]);
  const auto first = [](const Tensor& tensor) {
    return static_cast<double>(std::max<int64_t>(1, tensor.impl()->shape.at(0)));
  };
  if (op.name == "conv2d_channels_last") return 2 * results * weights / first(operands[1]);
  if (op.name == "convolution")
    return 2 * (attrs.get_bool("transposed") ? count_of(operands[0]) : results) * weights /
           first(operands[1]);
  // query[…, l, e], key[…, s, e], value[…, s, v]: scores, then their products with the values.
  const Shape& key = operands[1].impl()->shape;
  const double rows = count_of(operands[0]) / std::max(1.0, last_size(operands[0]));
  return 2 * rows * static_cast<double>(key.at(key.size() - 2)) *
         (last_size(operands[0]) + last_size(operands[2]));
}

bool is_product(const OpDef& op) {
  constexpr std::string_view kProducts[] = {"matmul",
                                            "linear_half",
                                            "linear_fused",
                                            "linear_packed",
                                            "conv2d_channels_last",
                                            "convolution",
                                            "scaled_dot_product_attention",
                                            "relative_position_attention"};
  return std::find(std::begin(kProducts), std::end(kProducts), op.name) != std::end(kProducts);
}

}  // namespace

profiling::Work work_of(const OpDef& op, std::span<const Tensor> operands, std::span<const Tensor> results,
                        const Attrs& attrs) {
  profiling::Work work;
  if (op.kind == OpKind::View || op.kind == OpKind::Composite) return work;
  work.is_known = true;
  double elements = 0;
  const auto add = [&](std::span<const Tensor> tensors) {
    for (const Tensor& tensor : tensors) {
      if (!tensor.defined() || tensor.storage() == nullptr) continue;
      work.bytes += bytes_of(tensor);
      elements = std::max(elements, count_of(tensor));
    }
  };
  add(operands);
  add(results);
  const Tensor* first = results.empty() ? nullptr : &results[0];
  if (first == nullptr && !operands.empty()) first = &operands.back();  // room for a part of a larger tensor
  const Tensor* computed = operands.empty() ? first : &operands[0];
  if (computed != nullptr && computed->defined()) work.arithmetic = computed->dtype();
  const bool is_moved = op.kind == OpKind::Creation;
  work.operations = is_moved ? 0 : elements;
  if (first != nullptr && first->defined() && is_product(op))
    work.operations = product_of(op, operands, *first, attrs);
  return work;
}

const char* describe_inputs(std::span<const Tensor> operands) {
  std::string shapes, dtypes;
  for (const Tensor& tensor : operands) {
    const bool is_there = tensor.defined();
    shapes += (shapes.empty() ? "" : ", ") + (is_there ? weft::str(tensor.impl()->shape) : std::string("[]"));
    dtypes += fmt::format("{}\"{}\"", dtypes.empty() ? "" : ", ", is_there ? short_name(tensor.dtype()) : "");
  }
  return profiling::intern("[" + shapes + "]\n[" + dtypes + "]");
}

}  // namespace weft::ops
