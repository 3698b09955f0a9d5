// scaled_dot_product_attention.
#include "ops/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/cpu/attention.h"
#include "ops/build.h"
#include "ops/memory_order.h"
#include "ops/random.h"

namespace weft::ops {

SymShape without_trailing(const SymShape& shape, size_t trailing) {
  return SymShape(shape.begin(), shape.end() - static_cast<long>(std::min(trailing, shape.size())));
}

void check_attention_dtypes(const OpDef& op, std::span<const TensorType> operands) {
  for (size_t i = 0; i < 3; ++i) {
    WEFT_CHECK_TYPE(is_floating(operands[i].dtype) && operands[i].dtype == operands[0].dtype,
                    fmt::format("{}: query, key and value must have one floating dtype{}", op.name,
                                describe_operands(op, operands)));
  }
}

void check_attention_shapes(const OpDef& op, std::span<const TensorType> operands) {
  for (size_t i = 0; i < 3; ++i) {
    WEFT_CHECK(operands[i].shape.size() >= 2,
               fmt::format("{}: query, key and value must have at least 2 dimensions{}", op.name,
                           describe_operands(op, operands)));
  }
  const SymShape &query = operands[0].shape, &key = operands[1].shape, &value = operands[2].shape;
  WEFT_CHECK(sym_eq(query.back(), key.back()),
             fmt::format("{}: query and key must have one last size: expected {}, got {}{}", op.name,
                         query.back().str(), key.back().str(), describe_operands(op, operands)));
  const Sym keys = key[key.size() - 2];
  WEFT_CHECK(sym_eq(keys, value[value.size() - 2]),
             fmt::format("{}: key and value must have as many rows: expected {}, got {}{}", op.name,
                         keys.str(), value[value.size() - 2].str(), describe_operands(op, operands)));
}

double attention_scale(const Attrs& attrs, int64_t head_dim) {
  return attrs.is_none("scale") ? 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(head_dim, 1)))
                                : float_arg(attrs, "scale");
}

Tensor dense_rows(const Tensor& x) { return x.size(-1) <= 1 || x.strides().back() == 1 ? x : x.contiguous(); }

int64_t row_stride(const Tensor& x) { return x.strides()[x.strides().size() - 2]; }
std::vector<int64_t> attention_order(std::span<const Tensor> operands) {
  const TensorImpl &query = *operands[0].impl(), &value = *operands[2].impl();
  const size_t ndim = query.shape.size();
  // Operands that do not fit are refused later; one of more dimensions makes the result have more.
  if (ndim < 3 || value.shape.empty() || query.shape.back() != value.shape.back() ||
      std::any_of(
          operands.begin(), operands.end(),
          [&](const Tensor& x) { return x.defined() && x.impl()->shape.size() > ndim; }) ||
      std::find(query.strides.begin(), query.strides.end(), 0) != query.strides.end())
    return {};
  std::vector<int64_t> order(ndim);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return query.strides[static_cast<size_t>(a)] > query.strides[static_cast<size_t>(b)];
  });
  return order.back() + 1 == static_cast<int64_t>(ndim) ? order : std::vector<int64_t>{};
}

kernels::AttentionShape attention_shape(const Tensor& query, const Tensor& key, const Tensor& value,
                                        const Tensor& output, const Attrs& attrs) {
  return {.dtype = query.dtype(),
          .queries = query.size(-2),
          .keys = key.size(-2),
          .head_dim = query.size(-1),
          .value_dim = value.size(-1),
          .query_stride = row_stride(query),
          .key_stride = row_stride(key),
          .value_stride = row_stride(value),
          .output_stride = row_stride(output),
          .scale = static_cast<float>(attention_scale(attrs, query.size(-1)))};
}

std::vector<void*> head_starts(const Tensor& x, size_t trailing, const Shape& batch, int64_t group) {
  const size_t own = x.shape().size() > trailing ? x.shape().size() - trailing : 0;
  const int64_t item = itemsize(x.dtype());
  std::vector<void*> starts;
  for (int64_t head = 0; head < numel(batch); ++head) {
    int64_t rest = head, offset = 0;
    for (size_t d = batch.size(); d-- > 0;) {
      int64_t position = rest % batch[d];
      rest /= batch[d];
      if (d + own < batch.size()) continue;
      const size_t dim = d + own - batch.size();
      if (d + 1 == batch.size()) position /= group;
      if (x.shape()[dim] != 1) offset += position * x.strides()[dim];
    }
    starts.push_back(static_cast<std::byte*>(x.data()) + offset * item);
  }
  return starts;
}

namespace {

using Types = std::span<const TensorType>;

// The leading dimensions of the result; with enable_gqa, keys and values have a divisor of the query's heads.
SymShape infer_batch(const OpDef& op, Types operands, bool grouped) {
  std::vector<SymShape> batches;
  for (size_t i = 0; i < 3; ++i) batches.push_back(without_trailing(operands[i].shape, 2));
  if (grouped) {
    WEFT_CHECK(
        std::all_of(batches.begin(), batches.end(), [](const SymShape& batch) { return !batch.empty(); }),
        fmt::format("{}: enable_gqa needs a dimension of heads{}", op.name, describe_operands(op, operands)));
    const Sym heads = batches[0].back();
    for (size_t i = 1; i < 3; ++i) {
      const Sym own = batches[i].back();
      WEFT_CHECK(
          sym_ne(own, Sym(0)) && sym_eq(floor_mod(heads, own), Sym(0)),
          fmt::format("{}: the heads of {} must divide the query's: expected a divisor of {}, got {}{}",
                      op.name, i == 1 ? "key" : "value", heads.str(), own.str(),
                      describe_operands(op, operands)));
      batches[i].back() = heads;
    }
  }
  return broadcast_shapes(op.name, batches);
}

std::vector<TensorType> infer_attention(const OpDef& op, Types operands, const Attrs& attrs) {
  check_attention_dtypes(op, operands);
  WEFT_CHECK_TYPE(
      operands[3].absent || operands[3].dtype == DType::Bool || is_floating(operands[3].dtype),
      fmt::format("{}: attn_mask must be bool or floating{}", op.name, describe_operands(op, operands)));
  check_attention_shapes(op, operands);
  const Sym queries = *(operands[0].shape.end() - 2), keys = *(operands[1].shape.end() - 2);
  TensorType result{operands[0].dtype, infer_batch(op, operands, attrs.get_bool("enable_gqa")),
                    operands[0].device};
  if (!operands[3].absent) {
    WEFT_CHECK(!attrs.get_bool("is_causal"),
               fmt::format("{}: give attn_mask or is_causal, not both", op.name));
    SymShape scores = result.shape;
    scores.insert(scores.end(), {queries, keys});
    const SymShape& mask = operands[3].shape;
    bool fits = mask.size() <= scores.size();
    for (size_t d = 0; fits && d < mask.size(); ++d) {
      const Sym size = mask[mask.size() - 1 - d];
      fits = sym_eq(size, Sym(1)) || sym_eq(size, scores[scores.size() - 1 - d]);
    }
    WEFT_CHECK(fits, fmt::format("{}: attn_mask must broadcast to the scores' shape {}{}", op.name,
                                 weft::str(scores), describe_operands(op, operands)));
  }
  WEFT_CHECK(
      float_arg(attrs, "dropout_p") >= 0 && float_arg(attrs, "dropout_p") <= 1,
      fmt::format("{}: dropout_p must be between 0 and 1, got {}", op.name, float_arg(attrs, "dropout_p")));
  result.shape.insert(result.shape.end(), {queries, operands[2].shape.back()});
  return {result};
}

std::vector<TensorType> infer_kernel(const OpDef& op, std::span<const TensorType> operands,
                                     const Attrs& attrs) {
  std::vector<TensorType> results = infer_attention(op, operands, attrs);
  if (float_arg(attrs, "dropout_p") > 0) {
    throw_error(
        ErrorKind::NotImplemented,
        fmt::format("{}: dropout (dropout_p={}) needs the weights: call _scaled_dot_product_attention_math",
                    op.name, float_arg(attrs, "dropout_p")));
  }
  return results;
}

// ---- the formula
// ---------------------------------------------------------------------------------------------
Tensor repeat_heads(const Tensor& x, const Sym& heads) {
  SymShape shape = sym_shape(x);
  const size_t at = shape.size() - 3;
  if (sym_eq(shape[at], heads)) return x;
  SymShape wide = shape;
  wide.insert(wide.begin() + static_cast<long>(at) + 1, floor_div(heads, shape[at]));
  shape[at] = heads;
  return build::reshape(build::expand(build::unsqueeze(x, static_cast<int64_t>(at) + 1), wide), shape);
}

// -inf where `keep` is false.
Tensor cut_out(const Tensor& scores, const Tensor& keep) {
  return invoke("where", {keep, scores, Scalar(-std::numeric_limits<double>::infinity())});
}

// (softmax(scale * query key^T + mask) value, the weights)
std::vector<Tensor> math_attention(const OpDef& op, const OpArgs& args) {
  const Tensor& query = args.tensors[0];
  if (query.dtype() == DType::F16 || query.dtype() == DType::BF16) {  // rounded once, at the end
    OpArgs wide = args;
    for (Tensor& tensor : wide.tensors)
      if (tensor.defined() && tensor.dtype() == query.dtype()) tensor = build::cast(tensor, DType::F32);
    std::vector<Tensor> results = math_attention(op, wide);
    for (Tensor& result : results) result = build::cast(result, query.dtype());
    return results;
  }
  Tensor key = args.tensors[1], value = args.tensors[2];
  const Tensor& mask = args.tensors[3];
  std::vector<TensorType> types;
  for (const Tensor& tensor : args.tensors)
    types.push_back(tensor.defined() ? type_of(tensor) : TensorType{.absent = true});
  infer_attention(op, types, args.attrs);
  if (args.attrs.get_bool("enable_gqa")) {
    const Sym heads = types[0].shape[types[0].shape.size() - 3];
    key = repeat_heads(key, heads), value = repeat_heads(value, heads);
  }
  const double scale = attention_scale(args.attrs, sym_specialize(types[0].shape.back()));
  Tensor scores = call1(
      "matmul", {build::mul(query, Scalar(scale)), build::transpose(key, key.dim() - 2, key.dim() - 1)});
  if (mask.defined())
    scores = mask.dtype() == DType::Bool ? cut_out(scores, mask)
                                         : build::add(scores, build::cast(mask, scores.dtype()));
  if (args.attrs.get_bool("is_causal")) {
    const SymShape shape = sym_shape(scores);
    const Tensor row =
        build::iota(shape[shape.size() - 2], Scalar(0), Scalar(1), DType::I64, types[0].device);
    const Tensor column = build::iota(shape.back(), Scalar(0), Scalar(1), DType::I64, types[0].device);
    scores = cut_out(scores, invoke("ge", {build::unsqueeze(row, 1), column}));
  }
  if (sym_eq(sym_shape(scores).back(), Sym(0))) return {call1("matmul", {scores, value}), scores};
  // A row that sees nothing: NaN from softmax, which weighs nothing instead.
  const Tensor seen = call1("any", {invoke("ne", {scores, Scalar(-std::numeric_limits<double>::infinity())})},
                            {{"dim", SymShape{Sym(-1)}}, {"keepdim", true}});
  const Tensor weights =
      dropped(invoke("where", {seen, call1("softmax", {scores}, {{"dim", Sym(-1)}}), Scalar(0.0)}),
              float_arg(args.attrs, "dropout_p"));
  return {call1("matmul", {weights, value}), weights};
}

// ---- the kernel
// ----------------------------------------------------------------------------------------------
// How many of the query's heads share one of `x`.
int64_t group_size(const Tensor& x, const Shape& batch, bool grouped) {
  return grouped ? batch.back() / x.size(-3) : 1;
}

void set_mask(Tensor& mask, kernels::AttentionShape& shape) {
  shape.mask = mask.dtype() == DType::Bool ? kernels::AttentionMask::Bool : kernels::AttentionMask::Additive;
  if (shape.mask == kernels::AttentionMask::Additive) mask = mask.to(DType::F32);
  const size_t ndim = mask.shape().size();
  shape.mask_column_stride = ndim >= 1 && mask.size(-1) != 1 ? mask.strides()[ndim - 1] : 0;
  shape.mask_row_stride = ndim >= 2 && mask.size(-2) != 1 ? mask.strides()[ndim - 2] : 0;
}

std::vector<Tensor> eager_attention(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  if (operands[0].dtype() == DType::F64) {
    const OpDef& math = get_op("_scaled_dot_product_attention_math");
    return {in_memory_order(attrs, call(math, OpArgs{{operands.begin(), operands.end()}, attrs})[0])};
  }
  std::vector<TensorType> types;
  for (const Tensor& tensor : operands)
    types.push_back(tensor.defined() ? type_of(tensor) : TensorType{.absent = true});
  const Tensor query = dense_rows(operands[0]), key = dense_rows(operands[1]),
               value = dense_rows(operands[2]);
  const Tensor output = empty_result(attrs, infer_attention(op, types, attrs)[0]);
  const Shape batch(output.shape().begin(), output.shape().end() - 2);
  const bool grouped = attrs.get_bool("enable_gqa");

  kernels::AttentionShape shape = attention_shape(query, key, value, output, attrs);
  shape.causal = attrs.get_bool("is_causal");
  Tensor mask = operands[3];
  if (mask.defined()) set_mask(mask, shape);
  const std::vector<void*> queries = head_starts(query, 2, batch, 1),
                           outputs = head_starts(output, 2, batch, 1);
  const std::vector<void*> keys = head_starts(key, 2, batch, group_size(key, batch, grouped));
  const std::vector<void*> values = head_starts(value, 2, batch, group_size(value, batch, grouped));
  const std::vector<void*> masks =
      mask.defined() ? head_starts(mask, 2, batch, 1) : std::vector<void*>(queries.size());
  std::vector<kernels::AttentionHead> heads;
  for (size_t i = 0; i < queries.size(); ++i)
    heads.push_back({queries[i], keys[i], values[i], masks[i], outputs[i]});
  kernels::attention(shape, heads);
  return {output};
}

#define WEFT_ATTENTION_PARAMETERS                                                               \
  "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool " \
  "is_causal=False, *, "                                                                        \
  "float? scale=None, bool enable_gqa=False)"

[[maybe_unused]] const OpDef* const kAttentionOps[] = {
    &register_op({.name = "scaled_dot_product_attention",
                  .schema = WEFT_ATTENTION_PARAMETERS " -> Tensor",
                  .doc =
                      "softmax(scale * query @ key^T + mask) @ value: query [*, L, E], key [*, S, E], value "
                      "[*, S, V] give [*, L, V]. The\n"
                      "scores are never all in memory. attn_mask broadcasts to [*, L, S]: bool, true takes "
                      "part; or floating, added.\n"
                      "is_causal: query i sees keys 0 to i. scale: 1 / sqrt(E). enable_gqa: key and value "
                      "have fewer heads (dimension -3),\n"
                      "each shared by consecutive heads of the query. A query that sees no key gives zeros, "
                      "as in PyTorch since 2.5. The\n"
                      "result lies in memory as query does: of a transposed one, transpose(1, 2).view() "
                      "joins the heads.\n"
                      "dtype:  floating; float16 and bfloat16 compute in float32. error: that of the sums, "
                      "in float32 2e-6 of the largest |value|\n"
                      "for scores below 10. raises: ValueError, TypeError; NotImplementedError for dropout.\n"
                      "source: Dao et al. 2022 (FlashAttention), Milakov and Gimelshein 2018.",
                  .infer = infer_kernel,
                  .eager = eager_attention,
                  .result_order = attention_order}),
    &define_composite("_scaled_dot_product_attention_math", WEFT_ATTENTION_PARAMETERS " -> (Tensor, Tensor)",
                      "scaled_dot_product_attention by its formula: (result, weights [*, L, S]).", "",
                      math_attention, {"scaled_dot_product_attention_math"}),
};

}  // namespace
}  // namespace weft::ops
