#include "ops/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/arguments.h"

namespace weft::ops {

SymShape spatial_sizes(const OpDef& op, const Attrs& attrs, std::string_view name, size_t rank) {
  SymShape values = list_arg(attrs, name);
  if (values.size() == 1) values.resize(rank, values[0]);
  WEFT_CHECK(values.size() == rank,
             fmt::format("{}: {}: expected one int, or {}, got {}", op.name, name, rank, weft::str(values)));
  return values;
}

std::vector<int64_t> spatial_arg(const OpDef& op, const Attrs& attrs, std::string_view name, size_t rank) {
  std::vector<int64_t> values;
  for (const Sym& value : spatial_sizes(op, attrs, name, rank)) values.push_back(sym_specialize(value));
  return values;
}

void check_window(const OpDef& op, std::string_view name, const std::vector<int64_t>& values, int64_t low) {
  WEFT_CHECK(std::all_of(values.begin(), values.end(), [&](int64_t value) { return value >= low; }),
             fmt::format("{}: {} must be at least {}, got {}", op.name, name, low, weft::str(values)));
  WEFT_CHECK(
      std::all_of(values.begin(), values.end(), [&](int64_t value) { return value <= kLargestWindow; }),
      fmt::format("{}: {} must be at most {}, got {}", op.name, name, kLargestWindow, weft::str(values)));
}

void check_planes(const OpDef& op, std::span<const TensorType> operands, size_t rank) {
  const SymShape& shape = operands[0].shape;
  bool valid = shape.size() == rank + 1 || shape.size() == rank + 2;
  for (size_t d = shape.size() == rank + 2 ? 1 : 0; valid && d < shape.size(); ++d)
    valid = sym_gt(shape[d], Sym(0));
  WEFT_CHECK(valid,
             fmt::format("{}: expected an input of {} or {} dimensions, none but the batch empty, got {}{}",
                         op.name, rank + 1, rank + 2, weft::str(shape), describe_operands(op, operands)));
}

void check_dtype(const OpDef& op, std::span<const TensorType> operands) {
  WEFT_CHECK_TYPE(dtype_bit(operands[0].dtype) & op.dtypes,
                  fmt::format("{}: dtype not supported: expected {}, got {}{}", op.name, str(op.dtypes),
                              name(operands[0].dtype), describe_operands(op, operands)));
}

Tensor run_in_compute_dtype(const Tensor& x, const Shape& shape,
                            const std::function<void(const Tensor&, const Tensor&)>& body) {
  const DType dtype = compute_dtype(x.dtype());
  const Tensor result = Tensor::empty(shape, dtype);
  body(x.to(dtype).contiguous(), result);
  return result.to(x.dtype());
}

Shape known_shape(const SymShape& shape) {
  Shape result;
  for (const Sym& size : shape) result.push_back(size.constant());
  return result;
}

}  // namespace weft::ops
