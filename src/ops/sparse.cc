// Linear layers with 2:4 sparse weights: of every four elements of a row two are kept.
#include <fmt/format.h>

#include "kernels/cpu/sparse_products.h"
#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

using Types = std::span<const TensorType>;
using Tensors = std::vector<Tensor>;

// From so many rows on arithmetic is the limit, not the weight's bytes: then the weight is expanded and the
// product a dense one.
constexpr int64_t kMostSparseRows = 16;

bool is_sparse_dtype(DType dtype) { return dtype == DType::F32 || dtype == DType::BF16; }

// The rows of the weight, as the operands have them after `first`.
Sym check_sparse_weight(const OpDef& op, Types operands, size_t first, bool may_be_int8) {
  const TensorType &values = operands[first], &lanes = operands[first + 1];
  const bool fits = is_sparse_dtype(values.dtype) || (may_be_int8 && values.dtype == DType::I8);
  WEFT_CHECK_TYPE(fits && lanes.dtype == DType::U8,
                  fmt::format("{}: expected values of float32{} or bfloat16 and lanes of uint8{}", op.name,
                              may_be_int8 ? ", int8" : "", describe_operands(op, operands)));
  WEFT_CHECK(values.shape.size() == 2 && lanes.shape.size() == 2 && sym_eq(values.shape[0], lanes.shape[0]) &&
                 sym_eq(values.shape[1], lanes.shape[1] * 4),
             fmt::format("{}: expected values [n, k / 2] and lanes [n, k / 8]{}", op.name,
                         describe_operands(op, operands)));
  return values.shape[0];
}

std::vector<TensorType> infer_sparse_linear(const OpDef& op, Types operands, const Attrs&) {
  const Sym rows = check_sparse_weight(op, operands, 1, false);
  WEFT_CHECK_TYPE(is_sparse_dtype(operands[0].dtype), fmt::format("{}: expected x of float32 or bfloat16{}",
                                                                  op.name, describe_operands(op, operands)));
  const SymShape& shape = operands[0].shape;
  WEFT_CHECK(!shape.empty() && sym_eq(shape.back(), operands[1].shape[1] * 2),
             fmt::format("{}: expected x [..., k]{}", op.name, describe_operands(op, operands)));
  WEFT_CHECK(operands[3].absent || (operands[3].shape.size() == 1 && sym_eq(operands[3].shape[0], rows)),
             fmt::format("{}: expected bias [n]{}", op.name, describe_operands(op, operands)));
  TensorType result{operands[0].dtype, shape, operands[0].device};
  result.shape.back() = rows;
  return {result};
}

kernels::SparseWeight weight_of(const Tensor& values, const Tensor& lanes) {
  return {values.data_as<std::byte>(), lanes.data_as<uint8_t>(), values.size(0), values.size(1) * 2,
          values.dtype() == DType::BF16};
}

Tensor expanded(const Tensor& values, const Tensor& lanes) {
  Tensor dense = Tensor::empty({values.size(0), values.size(1) * 2}, values.dtype());
  kernels::expand_sparse(weight_of(values, lanes), itemsize(values.dtype()), dense.data_as<std::byte>());
  return dense;
}

Tensors eager_sparse_linear(const OpDef&, std::span<const Tensor> operands, const Attrs&) {
  const Tensor &x = operands[0], values = operands[1].contiguous(), lanes = operands[2].contiguous();
  const kernels::SparseWeight weight = weight_of(values, lanes);
  const int64_t rows = weight.k == 0 ? -1 : x.numel() / weight.k;
  if (rows < 0 || rows > kMostSparseRows || !kernels::has_sparse_products()) {
    const Tensor dense = expanded(values, lanes).to(x.dtype());
    std::vector<Tensor> given = {x, dense, operands[3].defined() ? operands[3].to(x.dtype()) : Tensor()};
    return {call1("linear", std::move(given))};
  }
  Shape shape = x.shape();
  shape.back() = weight.n;
  const Tensor input = x.to(DType::F32).contiguous(),
               bias = operands[3].defined() ? operands[3].to(DType::F32).contiguous() : Tensor(),
               result = Tensor::empty(shape, DType::F32);
  kernels::sparse_product(rows, input.data_as<float>(), weight,
                          bias.defined() ? bias.data_as<float>() : nullptr, result.data_as<float>());
  return {result.to(x.dtype())};
}

std::vector<TensorType> infer_sparse_dense(const OpDef& op, Types operands, const Attrs&) {
  const Sym rows = check_sparse_weight(op, operands, 0, true);
  return {TensorType{operands[0].dtype, {rows, operands[0].shape[1] * 2}, operands[0].device}};
}

Tensors eager_sparse_dense(const OpDef&, std::span<const Tensor> operands, const Attrs&) {
  return {expanded(operands[0].contiguous(), operands[1].contiguous())};
}

[[maybe_unused]] const OpDef* const kSparse[] = {
    &register_op({.name = "sparse_linear",
                  .schema = "(Tensor x, Tensor values, Tensor lanes, Tensor? bias=None) -> Tensor",
                  .doc = "x [..., k] times the transpose of a 2:4 sparse weight [n, k], plus bias [n].\n"
                         "values [n, k / 2]: what is kept of each row, in order; lanes [n, k / 8] of uint8: "
                         "a bit per element,\n"
                         "the first in the lowest, two of each four set. Up to 16 rows of x read half a "
                         "dense weight's bytes; more\n"
                         "expand it and are a dense product.\n"
                         "dtype:  x, values: float32 or bfloat16; sums in float32. raises: ValueError for "
                         "other shapes.",
                  .infer = infer_sparse_linear,
                  .eager = eager_sparse_linear}),
    &register_op({.name = "sparse_dense",
                  .schema = "(Tensor values, Tensor lanes) -> Tensor",
                  .doc = "The dense weight [n, k] of a 2:4 sparse one (sparse_linear), with zeros where "
                         "nothing is kept.\n"
                         "dtype:  values: float32, bfloat16 or int8.",
                  .infer = infer_sparse_dense,
                  .eager = eager_sparse_dense}),
};

}  // namespace
}  // namespace weft::ops
