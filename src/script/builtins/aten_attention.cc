// Attention and the fused encoder layer of nn.TransformerEncoderLayer.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "script/builtins/aten.h"
#include "script/builtins/nested.h"

namespace weft::jit::aten {
namespace {

Tensor exchanged(const Tensor& x, int64_t a, int64_t b) {
  return call(op<"transpose">(), {x}, {{"dim0", number(a)}, {"dim1", number(b)}});
}
Tensor in_shape(const Tensor& x, const Ints& shape) {
  return call(op<"reshape">(), {x}, {{"shape", sizes(shape)}});
}
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return call(op<"linear">(), {x, weight, bias});
}
Tensor minus_infinity_where(const Tensor& mask, const Tensor& x) {
  return promoted(op<"where">(), {mask, Scalar(-std::numeric_limits<double>::infinity()), x});
}
Tensor softmax(const Tensor& x) { return call(op<"softmax">(), {x}, {{"dim", number(-1)}}); }

// Rows in which everything is masked give zeros.
Tensor masked_softmax(const Tensor& scores, const Tensor& mask) {
  const Tensor masked = minus_infinity_where(mask, scores);
  const Tensor weights = softmax(masked);
  return promoted(op<"where">(), {mask, Scalar(0), weights});
}

// query [*, L, E], key [*, S, E], value [*, S, V]; a bool mask says what takes part, another is added to the
// scores.
std::tuple<Tensor, Tensor> attention(const Tensor& query, Tensor key, Tensor value,
                                     const OptionalTensor& mask, bool is_causal, std::optional<double> scale,
                                     bool grouped) {
  WEFT_CHECK(!(mask && is_causal),
             "scaled_dot_product_attention: attn_mask must be None where is_causal=True");
  if (grouped && query.size(-3) != key.size(-3)) {
    const Tensor repeats = Tensor::of(Ints{query.size(-3) / key.size(-3)});
    key = call(op<"repeat_interleave">(), {key, repeats}, {{"dim", number(-3)}});
    value = call(op<"repeat_interleave">(), {value, repeats}, {{"dim", number(-3)}});
  }
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  const Tensor scaled = promoted(op<"mul">(), {query, Scalar(factor)});
  Tensor scores = matmul(scaled, exchanged(key, -2, -1));
  if (is_causal) {
    const Tensor all = call(op<"ones">(), {},
                            {{"shape", sizes(Ints{query.size(-2), key.size(-2)})}, {"dtype", DType::Bool}});
    scores = minus_infinity_where(call(op<"triu">(), {all}, {{"diagonal", number(1)}}), scores);
  } else if (mask && mask->dtype() == DType::Bool) {
    scores = minus_infinity_where(call(op<"logical_not">(), {*mask}), scores);
  } else if (mask) {
    scores = add(scores, *mask);
  }
  const Tensor weights = softmax(scores);
  return {matmul(weights, value), weights};
}

// [batch, length, heads * size] to [batch, heads, length, size].
Tensor split_heads(const Tensor& x, int64_t heads) {
  return exchanged(in_shape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

struct Projections {
  Tensor query, key, value;
};

Projections project(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& weight,
                    const Tensor& bias) {
  const bool is_self = query.impl() == key.impl() && key.impl() == value.impl();
  if (is_self) {
    const Tensors parts =
        call_all(op<"chunk">(), {linear(query, weight, bias)}, {{"chunks", number(3)}, {"dim", number(-1)}});
    return {parts[0], parts[1], parts[2]};
  }
  const Tensors weights = call_all(op<"chunk">(), {weight}, {{"chunks", number(3)}});
  const Tensors biases = call_all(op<"chunk">(), {bias}, {{"chunks", number(3)}});
  return {linear(query, weights[0], biases[0]), linear(key, weights[1], biases[1]),
          linear(value, weights[2], biases[2])};
}

enum MaskType : int64_t { kSourceMask, kPaddingMask, kFullMask };

// To the shape of the scores [batch, heads, L, S].
Tensor shape_mask(const Tensor& mask, OptionalInt type) {
  const bool is_padding = type ? *type == kPaddingMask : false;
  if (is_padding && mask.dim() == 2) return in_shape(mask, {mask.size(0), 1, 1, mask.size(1)});
  return mask;
}

struct AttentionLayer {
  int64_t embed_dim, heads;
  Tensor qkv_weight, qkv_bias, output_weight, output_bias;
};

// Weights are [batch, heads, L, S].
std::tuple<Tensor, Tensor> run(const AttentionLayer& layer, const Tensor& query, const Tensor& key,
                               const Tensor& value, const OptionalTensor& mask, OptionalInt mask_type) {
  WEFT_CHECK(query.dim() == 3 && query.size(2) == layer.embed_dim && layer.heads > 0 &&
                 layer.embed_dim % layer.heads == 0,
             fmt::format("_native_multi_head_attention: expected query [batch, length, {}] and {} heads that "
                         "divide it, got {}",
                         layer.embed_dim, layer.heads, describe(query)));
  const Projections projected = project(query, key, value, layer.qkv_weight, layer.qkv_bias);
  const double factor = 1 / std::sqrt(static_cast<double>(layer.embed_dim / layer.heads));
  const Tensor q = promoted(op<"mul">(), {split_heads(projected.query, layer.heads), Scalar(factor)});
  const Tensor scores = matmul(q, exchanged(split_heads(projected.key, layer.heads), -2, -1));
  Tensor weights;
  if (!mask)
    weights = softmax(scores);
  else if (mask->dtype() == DType::Bool)
    weights = masked_softmax(scores, shape_mask(*mask, mask_type));
  else
    weights = softmax(add(scores, shape_mask(*mask, mask_type)));
  const Tensor mixed = exchanged(matmul(weights, split_heads(projected.value, layer.heads)), 1, 2);
  const Tensor joined = in_shape(mixed, {query.size(0), query.size(1), layer.embed_dim});
  return {linear(joined, layer.output_weight, layer.output_bias), weights};
}

Tensor layer_norm(const Tensor& x, int64_t size, const Tensor& weight, const Tensor& bias, double eps) {
  return call(op<"layer_norm">(), {x, weight, bias}, {{"normalized_shape", sizes(Ints{size})}, {"eps", eps}});
}

struct EncoderLayer {
  AttentionLayer attention;
  bool use_gelu, norm_first;
  double eps;
  Tensor norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2;
  Tensor ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2;
};

Tensor run(const EncoderLayer& layer, const Tensor& source, const OptionalTensor& mask,
           OptionalInt mask_type) {
  const auto norm_1 = [&](const Tensor& x) {
    return layer_norm(x, layer.attention.embed_dim, layer.norm_weight_1, layer.norm_bias_1, layer.eps);
  };
  const auto norm_2 = [&](const Tensor& x) {
    return layer_norm(x, layer.attention.embed_dim, layer.norm_weight_2, layer.norm_bias_2, layer.eps);
  };
  const Tensor attended = layer.norm_first ? norm_1(source) : source;
  Tensor x = add(std::get<0>(run(layer.attention, attended, attended, attended, mask, mask_type)), source);
  if (!layer.norm_first) x = norm_1(x);
  const Tensor hidden = linear(layer.norm_first ? norm_2(x) : x, layer.ffn_weight_1, layer.ffn_bias_1);
  const Tensor active = layer.use_gelu ? call(op<"gelu">(), {hidden}) : call(op<"relu">(), {hidden});
  x = add(linear(active, layer.ffn_weight_2, layer.ffn_bias_2), x);
  return layer.norm_first ? x : norm_2(x);
}

[[maybe_unused]] const bool kAttention = [] {
  define(
      "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
      "dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
      [](const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask, double,
         bool is_causal, std::optional<double> scale, bool grouped) {
        return std::get<0>(attention(query, key, value, mask, is_causal, scale, grouped));
      });
  define(
      "_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, "
      "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool "
      "need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
      [](const Tensor& query, const Tensor& key, const Tensor& value, int64_t embed_dim, int64_t heads,
         const Tensor& qkv_weight, const Tensor& qkv_bias, const Tensor& weight, const Tensor& bias,
         const OptionalTensor& mask, bool need_weights, bool average, OptionalInt mask_type) {
        const AttentionLayer layer{embed_dim, heads, qkv_weight, qkv_bias, weight, bias};
        auto [output, weights] = run(layer, query, key, value, mask, mask_type);
        if (!need_weights)
          weights = Tensor();
        else if (average)
          weights = call(op<"mean">(), {weights}, {{"dim", sizes(Ints{1})}});
        return std::tuple(output, weights);
      });
  define(
      "_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor "
      "qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor "
      "norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, "
      "Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> "
      "Tensor",
      [](const Tensor& source, int64_t embed_dim, int64_t heads, const Tensor& qkv_weight,
         const Tensor& qkv_bias, const Tensor& weight, const Tensor& bias, bool use_gelu, bool norm_first,
         double eps, const Tensor& norm_weight_1, const Tensor& norm_bias_1, const Tensor& norm_weight_2,
         const Tensor& norm_bias_2, const Tensor& ffn_weight_1, const Tensor& ffn_bias_1,
         const Tensor& ffn_weight_2, const Tensor& ffn_bias_2, const OptionalTensor& mask,
         OptionalInt mask_type) {
        const EncoderLayer layer{{embed_dim, heads, qkv_weight, qkv_bias, weight, bias},
                                 use_gelu,
                                 norm_first,
                                 eps,
                                 norm_weight_1,
                                 norm_bias_1,
                                 norm_weight_2,
                                 norm_bias_2,
                                 ffn_weight_1,
                                 ffn_bias_1,
                                 ffn_weight_2,
                                 ffn_bias_2};
        const std::optional<Tensor> lengths = nested::lengths_of(source);
        if (!lengths) return run(layer, source, mask, mask_type);
        WEFT_CHECK(!mask, "_transformer_encoder_layer_fwd: a nested tensor takes no mask");
        const Tensor result =
            run(layer, source, nested::padding_mask(*lengths, source.size(1)), OptionalInt(kPaddingMask));
        nested::set_lengths(result, *lengths);
        return result;
      });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
