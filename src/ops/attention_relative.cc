// relative_position_attention.
#include <fmt/format.h>

#include "kernels/cpu/attention.h"
#include "ops/attention.h"
#include "ops/build.h"
#include "ops/memory_order.h"

namespace weft::ops {
namespace {

// rel_h [*, L, keys down], rel_w [*, L, keys across].
std::vector<TensorType> infer_relative(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_attention_dtypes(op, operands);
  check_attention_shapes(op, operands);
  const Sym queries = *(operands[0].shape.end() - 2), keys = *(operands[1].shape.end() - 2);
  std::vector<SymShape> batches;
  for (const TensorType& operand : operands) batches.push_back(without_trailing(operand.shape, 2));
  for (size_t i = 3; i < 5; ++i) {
    WEFT_CHECK_TYPE(operands[i].dtype == operands[0].dtype,
                    fmt::format("{}: rel_h and rel_w must have the dtype of query, {}{}", op.name,
                                short_name(operands[0].dtype), describe_operands(op, operands)));
    const SymShape& shape = operands[i].shape;
    WEFT_CHECK(shape.size() >= 2 && sym_eq(shape[shape.size() - 2], queries),
               fmt::format("{}: rel_h and rel_w must have a row for each query: expected [..., {}, keys down "
                           "or across]{}",
                           op.name, queries.str(), describe_operands(op, operands)));
  }
  const Sym down = operands[3].shape.back(), across = operands[4].shape.back();
  WEFT_CHECK(sym_eq(down * across, keys),
             fmt::format("{}: the keys must be a grid, rel_h.shape[-1] by rel_w.shape[-1]: expected {} keys, "
                         "got {}{}",
                         op.name, (down * across).str(), keys.str(), describe_operands(op, operands)));
  TensorType result{operands[0].dtype, broadcast_shapes(op.name, batches), operands[0].device};
  result.shape.insert(result.shape.end(), {queries, operands[2].shape.back()});
  return {result};
}

Tensor by_formula(std::span<const Tensor> operands, const Attrs& attrs) {
  const auto last = [](const Tensor& x) { return static_cast<int64_t>(x.shape().size()); };
  const Tensor &down = operands[3], &across = operands[4];
  const Tensor sum =
      build::add(build::unsqueeze(down, last(down)), build::unsqueeze(across, last(across) - 1));
  SymShape shape(sum.shape().begin(), sum.shape().end() - 2);
  shape.push_back(operands[1].size(-2));
  const Tensor mask = build::reshape(sum, shape);
  const OpDef& math = get_op("_scaled_dot_product_attention_math");
  return call1(math.name, {operands[0], operands[1], operands[2], mask}, {{"scale", attrs.at("scale")}});
}

std::vector<Tensor> eager_relative(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  if (operands[0].dtype() == DType::F64) return {in_memory_order(attrs, by_formula(operands, attrs))};
  std::vector<TensorType> types;
  for (const Tensor& tensor : operands) types.push_back(type_of(tensor));
  std::vector<Tensor> dense;
  for (const Tensor& operand : operands) dense.push_back(dense_rows(operand));
  const Tensor &query = dense[0], &key = dense[1], &value = dense[2], &down = dense[3], &across = dense[4];
  const Tensor output = empty_result(attrs, infer_relative(op, types, attrs)[0]);
  const Shape batch(output.shape().begin(), output.shape().end() - 2);

  kernels::AttentionShape shape = attention_shape(query, key, value, output, attrs);
  shape.grid_height = down.size(-1), shape.grid_width = across.size(-1);
  shape.down_stride = row_stride(down), shape.across_stride = row_stride(across);
  std::vector<std::vector<void*>> starts;
  for (const Tensor& operand : dense) starts.push_back(head_starts(operand, 2, batch, 1));
  const std::vector<void*> outputs = head_starts(output, 2, batch, 1);
  std::vector<kernels::AttentionHead> heads;
  for (size_t i = 0; i < outputs.size(); ++i) {
    heads.push_back({.query = starts[0][i],
                     .key = starts[1][i],
                     .value = starts[2][i],
                     .mask = nullptr,
                     .output = outputs[i],
                     .down = starts[3][i],
                     .across = starts[4][i]});
  }
  kernels::attention(shape, heads);
  return {output};
}

[[maybe_unused]] const OpDef& kRelative = register_op(
    {.name = "relative_position_attention",
     .schema =
         "(Tensor query, Tensor key, Tensor value, Tensor rel_h, Tensor rel_w, *, float? scale=None) -> "
         "Tensor",
     .doc =
         "Attention over the cells of a grid, H down and W across, with decomposed relative positions: "
         "softmax(scale * query @ key^T +\n"
         "rel_h[..., None] + rel_w[..., None, :]) @ value. query [*, L, E], key [*, H * W, E], value [*, H * "
         "W, V], rel_h [*, L, H] and\n"
         "rel_w [*, L, W] (what a query's score gains by the row and by the column of a key: q . R_h[y - "
         "y'], "
         "q . R_w[x - x']) give\n"
         "[*, L, V], which lies in memory as query does; leading dimensions broadcast. Neither the scores "
         "nor the sums of the two are ever in "
         "memory. scale: 1 / sqrt(E).\n"
         "dtype:  floating, one for all; float16 and bfloat16 compute in float32. error: that of the sums, "
         "in float32 2e-6 of the\n"
         "largest |value| for scores below 10. raises: ValueError, TypeError.\n"
         "source: Li et al. 2022 (MViTv2); Dao et al. 2022 (FlashAttention).",
     .infer = infer_relative,
     .eager = eager_relative,
     .result_order = attention_order});

}  // namespace
}  // namespace weft::ops
