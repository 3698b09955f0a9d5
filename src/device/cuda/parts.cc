#include "device/cuda/parts.h"

#include <algorithm>

#include "device/cuda/products.h"
#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::cuda {
namespace {

// A part of complex numbers, where it lies.
Tensor part_of(const Tensor& x, int64_t part) {
  const DType dtype = x.dtype() == DType::C128 ? DType::F64 : DType::F32;
  Strides strides = x.strides();
  for (int64_t& step : strides) step *= 2;
  return Tensor(x.storage(), dtype, x.shape(), strides, 2 * x.offset() + part);
}

Tensor joined_parts(const Tensor& real, const Tensor& imaginary) {
  const DType dtype = real.dtype() == DType::F64 ? DType::C128 : DType::C64;
  const Tensor out = Tensor::empty(real.shape(), dtype, real.device());
  if (out.numel() == 0) return out;
  part_of(out, 0).copy_from(real);
  part_of(out, 1).copy_from(imaginary);
  return out;
}

// An operator that adds up, in a complex dtype.
std::vector<Tensor> sums_of_parts(const ops::OpDef& op, const Tensor& x, ops::Attrs attrs) {
  const DType dtype = ops::dtype_arg(attrs).value_or(x.dtype());
  if (!is_complex(dtype)) return {};
  const Tensor wide = x.to(dtype);
  attrs.set("dtype", std::monostate());
  const auto sum = [&](int64_t part) { return ops::call(op, {{part_of(wide, part)}, attrs})[0]; };
  return {joined_parts(sum(0), sum(1))};
}

}  // namespace

std::vector<Tensor> run_as_it_is(const ops::OpDef& op, std::span<const Tensor> operands,
                                 const ops::Attrs& attrs) {
  return op.eager(op, operands, attrs);
}

std::vector<Tensor> run_bitcast(const ops::OpDef& op, std::span<const Tensor> operands,
                                const ops::Attrs& attrs) {
  const Tensor x = operands[0].contiguous(), out = empty_results(op, operands, attrs)[0];
  if (out.numel() == 0) return {out};
  const Tensor whole(out.storage(), x.dtype(), x.shape(), contiguous_strides(x.shape()));
  whole.copy_from(x);
  return {out};
}

std::vector<Tensor> run_complex(const ops::OpDef&, std::span<const Tensor> operands, const ops::Attrs&) {
  return {joined_parts(operands[0], operands[1])};
}

std::vector<Tensor> run_complex_reduction(const ops::OpDef& op, std::span<const Tensor> operands,
                                          const ops::Attrs& attrs) {
  const Tensor& x = operands[0];
  if (op.name != "sum") {
    if (!is_complex(x.dtype())) return {};
    return ops::call(op, {{ops::invoke("ne", {x, Scalar(0)})}, attrs});
  }
  return sums_of_parts(op, x, attrs);
}

std::vector<Tensor> run_complex_cumsum(const ops::OpDef& op, std::span<const Tensor> operands,
                                       const ops::Attrs& attrs) {
  return sums_of_parts(op, operands[0], attrs);
}

std::vector<Tensor> run_matmul_of_parts(const ops::OpDef& op, std::span<const Tensor> operands,
                                        const ops::Attrs& attrs) {
  const Tensor &x = operands[0], &y = operands[1];
  const auto product = [&](const Tensor& a, const Tensor& b) { return ops::call(op, {{a, b}, attrs})[0]; };
  if (x.dtype() == DType::Bool) return {product(x.to(DType::I32), y.to(DType::I32)).to(DType::Bool)};
  if (!is_complex(x.dtype())) return {};
  const auto part = [&](int64_t left, int64_t right) { return product(part_of(x, left), part_of(y, right)); };
  return {joined_parts(ops::build::sub(part(0, 0), part(1, 1)), ops::build::add(part(0, 1), part(1, 0)))};
}

std::vector<Tensor> run_require(const ops::OpDef&, std::span<const Tensor> operands, const ops::Attrs&) {
  const Tensor condition = operands[1].to(Device()).contiguous();
  const bool* const values = condition.data_as<bool>();
  if (!std::all_of(values, values + condition.numel(), [](bool value) { return value; })) return {};
  return {operands[0].clone()};
}

std::vector<Tensor> run_dequantize(const ops::OpDef& op, std::span<const Tensor> operands,
                                   const ops::Attrs& attrs) {
  using namespace ops::build;
  const Tensor &values = operands[0], scales = operands[1].to(DType::F32);
  const DType dtype = empty_results(op, operands, attrs)[0].dtype();
  if (values.numel() == 0) return {};
  if (op.name == "dequantize_int8") return {mul(values.to(DType::F32), unsqueeze(scales, 1)).to(dtype)};
  const int64_t n = values.size(0), k = values.size(1) * 2, groups = scales.size(0),
                group = ops::int_arg(attrs, "group_size");
  const Tensor high = ops::invoke("bitwise_right_shift", {values, Scalar(4)}),
               low = ops::invoke("bitwise_and", {values, Scalar(15)});
  const Tensor numbers =
      reshape(join({unsqueeze(high, 2), unsqueeze(low, 2)}, 2), {Sym(n), Sym(k)}).to(DType::F32);
  // Of each column, its group's.
  const auto spread = [&](int64_t which) {
    const Tensor of_groups = unsqueeze(transpose(select(scales, 2, Sym(which)), 0, 1), 2);
    const Tensor all =
        reshape(expand(of_groups, {Sym(n), Sym(groups), Sym(group)}), {Sym(n), Sym(groups * group)});
    return slice(all, 1, Sym(0), Sym(k));
  };
  return {add(mul(sub(numbers, Scalar(8.0)), spread(0)), spread(1)).to(dtype)};
}

}  // namespace weft::cuda
