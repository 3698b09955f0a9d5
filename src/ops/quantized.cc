// Weight-only quantization of linear layers, and products with such weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/cpu/int4_range.h"
#include "kernels/cpu/quantized_kernels.h"
#include "kernels/cpu/quantized_matrix.h"
#include "ops/arguments.h"
#include "weft/detail/visit_dtype.h"
#include "weft/parallel.h"
#include "weft/quantization.h"

namespace weft::ops {
namespace {

using Types = std::span<const TensorType>;
using Tensors = std::vector<Tensor>;
constexpr int64_t kElementsPerTask = 16 * 1024;

void check_weight(const OpDef& op, Types operands) {
  WEFT_CHECK_TYPE(is_floating(operands[0].dtype) && operands[0].dtype != DType::F64,
                  fmt::format("{}: expected weight of float32, float16 or bfloat16{}", op.name,
                              describe_operands(op, operands)));
  if (operands[0].shape.size() != 2) fail_for(op, operands, "expected weight [n, k]");
}

void check_dtype(const OpDef& op, Types operands, size_t index, DType dtype) {
  WEFT_CHECK_TYPE(operands[index].dtype == dtype,
                  fmt::format("{}: expected {} of {}, got {}{}", op.name, op.params[index].name, name(dtype),
                              name(operands[index].dtype), describe_operands(op, operands)));
}

int64_t group_size_arg(const OpDef& op, Types operands, const Attrs& attrs) {
  const int64_t group = int_arg(attrs, "group_size");
  if (group != 32 && group != 64 && group != 128 && group != 256)
    fail_for(op, operands, fmt::format("expected group_size 32, 64, 128 or 256, got {}", group));
  return group;
}

// Rows in parallel.
template <class F>
void for_each_row(const Tensor& x, const F& body) {
  parallel_for(0, x.size(0), std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, x.size(1))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) body(row);
               });
}

// body(row, x) for every row of a floating matrix, x in float32.
template <class F>
void for_each_float_row(const Tensor& matrix, const F& body) {
  const Tensor rows = matrix.contiguous();
  const int64_t k = rows.size(1), grain = std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, k));
  parallel_for(0, rows.size(0), grain, [&](int64_t begin, int64_t end) {
    std::vector<float> x(static_cast<size_t>(k));
    for (int64_t row = begin; row < end; ++row) {
      kernels::to_floats({rows.data(), rows.dtype(), k}, row, 1, 0, k, k, x.data(), k);
      body(row, x.data());
    }
  });
}

[[noreturn]] void not_finite(const OpDef& op, int64_t row) {
  throw_error(ErrorKind::Value,
              fmt::format("{}: expected finite weights, got infinity or NaN in row {}", op.name, row));
}

DType result_dtype(const OpDef& op, const Attrs& attrs) {
  const DType dtype = dtype_arg(attrs).value_or(DType::F32);
  WEFT_CHECK_TYPE(is_floating(dtype),
                  fmt::format("{}: expected a floating dtype, got {}", op.name, name(dtype)));
  return dtype;
}

// ---- int8
// --------------------------------------------------------------------------------------------------------
std::vector<TensorType> infer_quantize_int8(const OpDef& op, Types operands, const Attrs&) {
  check_weight(op, operands);
  return {{DType::I8, operands[0].shape, operands[0].device},
          {DType::F32, {operands[0].shape[0]}, operands[0].device}};
}

Tensors eager_quantize_int8(const OpDef& op, std::span<const Tensor> operands, const Attrs&) {
  const Tensor& weight = operands[0];
  const Tensor values = Tensor::empty(weight.shape(), DType::I8),
               scales = Tensor::empty({weight.size(0)}, DType::F32);
  const int64_t k = weight.size(1);
  const kernels::QuantizedKernels& kernels = kernels::quantized_kernels();
  for_each_float_row(weight, [&](int64_t row, const float* x) {
    float least = 0, most = 0;
    if (!kernels.find_extremes(x, k, k, &least, &most)) not_finite(op, row);
    const float start = 0, largest = std::max(std::abs(least), std::abs(most));
    const float scale = std::max(largest / 127.5f, std::numeric_limits<float>::epsilon());
    scales.data_as<float>()[row] = scale;
    kernels.quantize_weights({.x = x,
                              .k = k,
                              .group = k,
                              .starts = &start,
                              .scales = &scale,
                              .least = -128.0f,
                              .most = 127.0f,
                              .pairs = false,
                              .q = static_cast<uint8_t*>(values.data()) + row * k});
  });
  return {values, scales};
}

std::vector<TensorType> infer_dequantize_int8(const OpDef& op, Types operands, const Attrs& attrs) {
  check_dtype(op, operands, 0, DType::I8);
  check_dtype(op, operands, 1, DType::F32);
  const SymShape &values = operands[0].shape, &scales = operands[1].shape;
  if (values.size() != 2 || scales.size() != 1 || sym_ne(values[0], scales[0]))
    fail_for(op, operands, "expected values [n, k] and scales [n]");
  return {{result_dtype(op, attrs), values, operands[0].device}};
}

Tensors eager_dequantize_int8(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor values = operands[0].contiguous(), scales = operands[1].contiguous();
  const Tensor result = Tensor::empty(values.shape(), DType::F32);
  const int64_t k = values.size(1);
  for_each_row(values, [&](int64_t row) {
    const float scale = scales.data_as<float>()[row];
    for (int64_t i = row * k; i < (row + 1) * k; ++i)
      result.data_as<float>()[i] = static_cast<float>(values.data_as<int8_t>()[i]) * scale;
  });
  return {result.to(result_dtype(op, attrs))};
}

// ---- int4
// --------------------------------------------------------------------------------------------------------
std::vector<TensorType> infer_quantize_int4(const OpDef& op, Types operands, const Attrs& attrs) {
  check_weight(op, operands);
  const int64_t group = group_size_arg(op, operands, attrs);
  const Sym n = operands[0].shape[0], k = operands[0].shape[1];
  if (sym_ne(floor_mod(k, Sym(2)), Sym(0)))
    fail_for(op, operands, fmt::format("expected an even number of columns, got {}", k.str()));
  return {{DType::U8, {n, floor_div(k, Sym(2))}, operands[0].device},
          {DType::BF16, {floor_div(k + Sym(group - 1), Sym(group)), n, Sym(2)}, operands[0].device}};
}

Tensors eager_quantize_int4(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& weight = operands[0];
  const int64_t n = weight.size(0), k = weight.size(1), group = int_arg(attrs, "group_size");
  const Tensor values = Tensor::empty({n, k / 2}, DType::U8),
               scales = Tensor::empty({(k + group - 1) / group, n, 2}, DType::BF16);
  const size_t groups = static_cast<size_t>((k + group - 1) / group);
  const kernels::QuantizedKernels& kernels = kernels::quantized_kernels();
  for_each_float_row(weight, [&](int64_t row, const float* x) {
    std::vector<float> least(groups), most(groups);
    if (!kernels.find_extremes(x, k, group, least.data(), most.data())) not_finite(op, row);
    for (size_t i = 0; i < groups; ++i) {
      const kernels::Int4Range range(least[i], most[i]);
      BFloat16* const scale = scales.data_as<BFloat16>() + (static_cast<int64_t>(i) * n + row) * 2;
      scale[0] = range.scale, scale[1] = range.zero;
      least[i] = range.start(), most[i] = static_cast<float>(range.scale);
    }
    kernels.quantize_weights({.x = x,
                              .k = k,
                              .group = group,
                              .starts = least.data(),
                              .scales = most.data(),
                              .least = 0.0f,
                              .most = 15.0f,
                              .pairs = true,
                              .q = values.data_as<uint8_t>() + row * (k / 2)});
  });
  return {values, scales};
}

std::vector<TensorType> infer_dequantize_int4(const OpDef& op, Types operands, const Attrs& attrs) {
  check_dtype(op, operands, 0, DType::U8);
  WEFT_CHECK_TYPE(is_floating(operands[1].dtype) && operands[1].dtype != DType::F64,
                  fmt::format("{}: expected scales_and_zeros of bfloat16, float16 or float32{}", op.name,
                              describe_operands(op, operands)));
  const int64_t group = group_size_arg(op, operands, attrs);
  const SymShape &values = operands[0].shape, &scales = operands[1].shape;
  if (values.size() != 2) fail_for(op, operands, "expected values [n, k / 2]");
  const Sym k = values[1] * Sym(2);
  if (scales.size() != 3 || sym_ne(scales[0], floor_div(k + Sym(group - 1), Sym(group))) ||
      sym_ne(scales[1], values[0]) || sym_ne(scales[2], Sym(2)))
    fail_for(op, operands,
             fmt::format("expected scales_and_zeros [k / {}, n, 2] with values [n, k / 2]", group));
  return {{result_dtype(op, attrs), {values[0], k}, operands[0].device}};
}

Tensors eager_dequantize_int4(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor values = operands[0].contiguous(), scales = operands[1].to(DType::F32).contiguous();
  const int64_t n = values.size(0), k = values.size(1) * 2, group = int_arg(attrs, "group_size");
  const Tensor result = Tensor::empty({n, k}, DType::F32);
  for_each_row(values, [&](int64_t row) {
    for (int64_t i = 0; i < k; ++i) {
      const uint8_t byte = values.data_as<uint8_t>()[row * (k / 2) + i / 2];
      const float* const scale = scales.data_as<float>() + (i / group * n + row) * 2;
      const int q = (i % 2 == 0 ? byte >> 4 : byte & 15) - 8;
      result.data_as<float>()[row * k + i] = static_cast<float>(q) * scale[0] + scale[1];
    }
  });
  return {result.to(result_dtype(op, attrs))};
}

[[maybe_unused]] const OpDef* const kQuantizedOps[] = {
    &register_op(
        {.name = "quantize_int8",
         .schema = "(Tensor weight) -> (Tensor, Tensor)",
         .doc = "Symmetric int8 weights by output channel: (values i8[n, k], scales f32[n]) of weight[n, k] "
                "f32, f16 or bf16, with weight\n"
                "close to values * scales[:, None]. scale = max(max |weight| / 127.5, float32's epsilon); "
                "values =\n"
                "clamp(round(weight / scale), -128, 127), halves to even.\n"
                "raises: ValueError for infinity or NaN. source: weight-only int8 of gpt-fast and torchao.",
         .infer = infer_quantize_int8,
         .eager = eager_quantize_int8}),
    &register_op({.name = "dequantize_int8",
                  .schema = "(Tensor values, Tensor scales, *, dtype? dtype=None) -> Tensor",
                  .doc = "values i8[n, k] * scales f32[n, None], in float32, rounded to `dtype` (float32).",
                  .infer = infer_dequantize_int8,
                  .eager = eager_dequantize_int8}),
    &register_op({.name = "quantize_int4",
                  .schema = "(Tensor weight, int group_size=32) -> (Tensor, Tensor)",
                  .doc = "Asymmetric int4 weights by groups of 32, 64, 128 or 256 inputs: (values u8[n, k / "
                         "2], scales_and_zeros\n"
                         "bf16[ceil(k / group_size), n, 2]) of weight[n, k] f32, f16 or bf16. scale = "
                         "max(max - min, 1e-6) / 15 and zero = min + 8 *\n"
                         "scale, both rounded to bfloat16; q = clamp(round((weight - (zero - 8 * scale)) / "
                         "scale), 0, 15), halves to even; weight is\n"
                         "close to (q - 8) * scale + zero. A byte has the q of an even column in its high "
                         "bits, of the next in its low bits. The last\n"
                         "group may be shorter.\n"
                         "raises: ValueError for infinity or NaN, and for an odd k. source: weight-only int4 "
                         "of gpt-fast and torchao.",
                  .infer = infer_quantize_int4,
                  .eager = eager_quantize_int4}),
    &register_op(
        {.name = "dequantize_int4",
         .schema =
             "(Tensor values, Tensor scales_and_zeros, int group_size=32, *, dtype? dtype=None) -> Tensor",
         .doc = "(q - 8) * scale + zero of what quantize_int4 gives, or of scales in float16 or float32, in "
                "float32, rounded to\n`dtype` (float32): [n, k].",
         .infer = infer_dequantize_int4,
         .eager = eager_dequantize_int4}),
};

}  // namespace
}  // namespace weft::ops
