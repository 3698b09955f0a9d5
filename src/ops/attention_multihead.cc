// Multi-head attention and the transformer encoder's layer, over linear, scaled_dot_product_attention and
// softmax.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/random.h"

namespace weft::ops {
namespace {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return call1("linear", {x, weight, bias});
}

Sym size_of(const Tensor& x, size_t dim) { return sym_shape(x)[dim]; }

std::string describe_given(const OpDef& op, const OpArgs& args) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : args.tensors)
    types.push_back(tensor.defined() ? type_of(tensor) : TensorType{.absent = true});
  return describe_operands(op, types);
}

void check_shape(const OpDef& op, const OpArgs& args, const Tensor& x, const char* what,
                 const SymShape& expected) {
  const SymShape shape = sym_shape(x);
  WEFT_CHECK(
      shape.size() == expected.size() && std::equal(shape.begin(), shape.end(), expected.begin(), sym_eq),
      fmt::format("{}: expected {} of shape {}, got {}{}", op.name, what, weft::str(expected),
                  weft::str(shape), describe_given(op, args)));
}

// A third of a packed weight [3 E, …] or bias [3 E]; undefined of undefined.
Tensor third(const Tensor& packed, int64_t i, const Sym& size) {
  if (!packed.defined()) return packed;
  return build::slice(packed, 0, Sym(i) * size, Sym(i + 1) * size);
}

// Query, key and value projected by a packed weight: in one product where they are one tensor.
std::array<Tensor, 3> project_packed(const std::array<Tensor, 3>& x, const Tensor& weight, const Tensor& bias,
                                     const Sym& size) {
  std::array<Tensor, 3> result;
  if (x[0].impl() == x[1].impl() && x[1].impl() == x[2].impl()) {
    const Tensor all = linear(x[0], weight, bias);
    const int64_t last = all.dim() - 1;
    for (int64_t i = 0; i < 3; ++i)
      result[static_cast<size_t>(i)] = build::slice(all, last, Sym(i) * size, Sym(i + 1) * size);
    return result;
  }
  for (int64_t i = 0; i < 3; ++i) {
    result[static_cast<size_t>(i)] =
        linear(x[static_cast<size_t>(i)], third(weight, i, size), third(bias, i, size));
  }
  return result;
}

// Masks of these functions say with true, or a number to add, what is left out: -inf where true.
Tensor additive(const OpDef& op, const OpArgs& args, const Tensor& mask, const char* what, DType dtype) {
  if (!mask.defined()) return mask;
  WEFT_CHECK_TYPE(mask.dtype() == DType::Bool || is_floating(mask.dtype()),
                  fmt::format("{}: {} must be bool or floating{}", op.name, what, describe_given(op, args)));
  if (mask.dtype() != DType::Bool) return build::cast(mask, dtype);
  const Tensor zero = build::full({}, Scalar(0.0), dtype),
               minus_infinity = build::full({}, Scalar(-std::numeric_limits<double>::infinity()), dtype);
  return call1("where", {mask, minus_infinity, zero});
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : !b.defined() ? a : build::add(a, b);
}

// One more key that no mask leaves out.
Tensor with_open_key(const Tensor& mask) {
  if (!mask.defined()) return mask;
  SymShape shape = sym_shape(mask);
  shape.back() = Sym(1);
  return build::join({mask, build::full(shape, Scalar(0.0), mask.dtype())}, mask.dim() - 1);
}

struct Attended {
  Tensor output;   // [batch, heads, queries, head_dim]
  Tensor weights;  // [batch, heads, queries, keys], where they are wanted
};

// `mask` is added to the scores, or undefined. Operands are [batch, heads, rows, head_dim].
Attended attend(const std::array<Tensor, 3>& x, const Tensor& mask, bool need_weights, bool causal,
                double dropout) {
  if (!need_weights && dropout == 0) {
    return {call1("scaled_dot_product_attention", {x[0], x[1], x[2], causal ? Tensor() : mask},
                  {{"is_causal", causal}}),
            {}};
  }
  const double scale = 1.0 / std::sqrt(static_cast<double>(sym_specialize(size_of(x[0], 3))));
  const Tensor scores = call1("matmul", {build::mul(x[0], Scalar(scale)), build::transpose(x[1], 2, 3)});
  const Tensor weights = dropped(call1("softmax", {sum_of(scores, mask)}, {{"dim", Sym(-1)}}), dropout);
  return {call1("matmul", {weights, x[2]}), weights};
}

Tensor averaged(const Tensor& weights, bool average) {
  return average ? call1("mean", {weights}, {{"dim", SymShape{Sym(1)}}}) : weights;
}

void check_heads(const OpDef& op, const Sym& embed_dim, int64_t heads) {
  WEFT_CHECK(heads > 0 && sym_eq(floor_mod(embed_dim, Sym(heads)), Sym(0)),
             fmt::format("{}: the number of heads must divide embed_dim: got {} heads for {}", op.name, heads,
                         embed_dim.str()));
}

// ---- multi_head_attention_forward
// ------------------------------------------------------------------------------
enum MultiheadOperand : size_t {
  kQuery,
  kKey,
  kValue,
  kInWeight,
  kInBias,
  kBiasK,
  kBiasV,
  kOutWeight,
  kOutBias,
  kPaddingMask,
  kMask,
  kQueryWeight,
  kKeyWeight,
  kValueWeight,
  kStaticK,
  kStaticV
};

class MultiHead {
 public:
  MultiHead(const OpDef& op, const OpArgs& args)
      : op_(op),
        args_(args),
        batched_(args.tensors[kQuery].dim() == 3),
        num_heads_(int_arg(args.attrs, "num_heads")),
        heads_(num_heads_) {
    check();
    for (size_t i = 0; i < 3; ++i) x_[i] = batched_ ? given(i) : unbatched(i);
    size_ = size_of(x_[0], 2), queries_ = size_of(x_[0], 0), batch_ = size_of(x_[0], 1);
    WEFT_CHECK(
        sym_eq(size_, args.attrs.get<Sym>("embed_dim_to_check")),
        fmt::format("{}: expected an embedding of size {}, got {}{}", op.name,
                    args.attrs.get<Sym>("embed_dim_to_check").str(), size_.str(), describe_given(op, args)));
    check_heads(op, size_, num_heads_);
    const DType dtype = x_[0].dtype();
    mask_ = additive(op, args, given(kMask), "attn_mask", dtype);
    padding_ = additive(op, args, given(kPaddingMask), "key_padding_mask", dtype);
    if (padding_.defined() && !batched_) padding_ = build::unsqueeze(padding_, 0);
  }

  std::vector<Tensor> run() {
    project();
    std::array<Tensor, 3> heads{split_heads(x_[0]), keys(kStaticK, 1), keys(kStaticV, 2)};
    if (args_.attrs.get_bool("add_zero_attn")) add_zero_key(heads);
    const bool need_weights = args_.attrs.get_bool("need_weights");
    const bool causal = args_.attrs.get_bool("is_causal") && !padding_.defined() && !need_weights;
    const double dropout = args_.attrs.get_bool("training") ? float_arg(args_.attrs, "dropout_p") : 0;
    const Attended attended =
        attend(heads, combined_mask(size_of(heads[1], 2)), need_weights, causal, dropout);
    Tensor output = build::reshape(build::permute(attended.output, {2, 0, 1, 3}), {queries_, batch_, size_});
    output = linear(output, given(kOutWeight), given(kOutBias));
    if (!need_weights) return {batched_ ? output : build::squeeze(output, 1), Tensor()};
    const Tensor weights = averaged(attended.weights, args_.attrs.get_bool("average_attn_weights"));
    return {batched_ ? output : build::squeeze(output, 1), batched_ ? weights : build::squeeze(weights, 0)};
  }

 private:
  const Tensor& given(size_t i) const { return args_.tensors[i]; }

  // One tensor stays one, so that it is projected once.
  Tensor unbatched(size_t i) const {
    for (size_t j = 0; j < i; ++j) {
      if (given(i).impl() == given(j).impl()) return x_[j];
    }
    return build::unsqueeze(given(i), 1);
  }

  void check() const {
    const int64_t ndim = given(kQuery).dim();
    WEFT_CHECK((ndim == 2 || ndim == 3) && given(kKey).dim() == ndim && given(kValue).dim() == ndim,
               fmt::format("{}: query, key and value must all have 3 dimensions [length, batch, size], or 2 "
                           "without a batch{}",
                           op_.name, describe_given(op_, args_)));
    const size_t rows = ndim == 3 ? 2 : 1;
    for (size_t d = 0; d < rows; ++d) {
      WEFT_CHECK(sym_eq(size_of(given(kKey), d), size_of(given(kValue), d)) &&
                     (d == 0 || sym_eq(size_of(given(kKey), d), size_of(given(kQuery), d))),
                 fmt::format("{}: key and value must have one length, and all three one batch{}", op_.name,
                             describe_given(op_, args_)));
    }
    WEFT_CHECK(given(kBiasK).defined() == given(kBiasV).defined(),
               fmt::format("{}: give both bias_k and bias_v or none", op_.name));
    WEFT_CHECK(!args_.attrs.get_bool("is_causal") || given(kMask).defined(),
               fmt::format("{}: is_causal says that attn_mask is causal: attn_mask is missing", op_.name));
  }

  void project() {
    const Tensor& bias = given(kInBias);
    if (args_.attrs.get_bool("use_separate_proj_weight")) {
      std::array<Tensor, 3> projected;
      for (size_t i = 0; i < 3; ++i) {
        const Tensor& weight = given(kQueryWeight + i);
        WEFT_CHECK_TYPE(
            weight.defined(),
            fmt::format("{}: use_separate_proj_weight needs q_proj_weight, k_proj_weight and v_proj_weight",
                        op_.name));
        check_shape(op_, args_, weight,
                    i == 0   ? "q_proj_weight"
                    : i == 1 ? "k_proj_weight"
                             : "v_proj_weight",
                    {size_, size_of(x_[i], 2)});
        projected[i] = linear(x_[i], weight, third(bias, static_cast<int64_t>(i), size_));
      }
      x_ = projected;
    } else {
      WEFT_CHECK_TYPE(given(kInWeight).defined(), fmt::format("{}: in_proj_weight is missing", op_.name));
      check_shape(op_, args_, given(kInWeight), "in_proj_weight", {Sym(3) * size_, size_});
      x_ = project_packed(x_, given(kInWeight), bias, size_);
    }
    if (!given(kBiasK).defined()) return;
    for (size_t i = 1; i < 3; ++i) {
      const Tensor& extra = given(i == 1 ? kBiasK : kBiasV);
      x_[i] = build::join(
          {x_[i], build::expand(build::reshape(extra, {Sym(1), Sym(1), size_}), {Sym(1), batch_, size_})}, 0);
    }
    mask_ = with_open_key(mask_), padding_ = with_open_key(padding_);
  }

  // [length, batch, size] -> [batch, heads, length, head_dim]
  Tensor split_heads(const Tensor& x) const {
    const Tensor parts = build::reshape(x, {size_of(x, 0), batch_, heads_, floor_div(size_, heads_)});
    return build::permute(parts, {1, 2, 0, 3});
  }

  // Keys or values, projected or given ([batch * heads, length, head_dim]).
  Tensor keys(size_t fixed, size_t projected) const {
    if (!given(fixed).defined()) return split_heads(x_[projected]);
    const SymShape expected{
        batch_ * heads_,
        size_of(given(fixed), std::min<size_t>(1, static_cast<size_t>(given(fixed).dim()) - 1)),
        floor_div(size_, heads_)};
    check_shape(op_, args_, given(fixed), fixed == kStaticK ? "static_k" : "static_v", expected);
    return build::reshape(given(fixed), {batch_, heads_, expected[1], expected[2]});
  }

  void add_zero_key(std::array<Tensor, 3>& heads) {
    for (size_t i = 1; i < 3; ++i) {
      SymShape shape = sym_shape(heads[i]);
      shape[2] = Sym(1);
      heads[i] = build::join({heads[i], build::full(shape, Scalar(0.0), heads[i].dtype())}, 2);
    }
    mask_ = with_open_key(mask_), padding_ = with_open_key(padding_);
  }

  // Added to scores [batch, heads, queries, keys].
  Tensor combined_mask(const Sym& keys) const {
    Tensor mask = mask_, padding = padding_;
    if (mask.defined() && mask.dim() == 3) {
      check_shape(op_, args_, mask, "attn_mask", {batch_ * heads_, queries_, keys});
      mask = build::reshape(mask, {batch_, heads_, queries_, keys});
    } else if (mask.defined()) {
      check_shape(op_, args_, mask, "attn_mask", {queries_, keys});
    }
    if (padding.defined()) {
      check_shape(op_, args_, padding, "key_padding_mask", {batch_, keys});
      padding = build::reshape(padding, {batch_, Sym(1), Sym(1), keys});
    }
    return sum_of(mask, padding);
  }

  const OpDef& op_;
  const OpArgs& args_;
  const bool batched_;
  const int64_t num_heads_;
  const Sym heads_;
  std::array<Tensor, 3> x_;
  Sym size_, queries_, batch_;
  Tensor mask_, padding_;  // additive
};

// ---- the encoder's layer
// -----------------------------------------------------------------------------------------
struct SelfAttention {
  Tensor in_weight, in_bias, out_weight, out_bias;
};

// mask_type 0: [queries, keys]; 1: [batch, keys]; otherwise as its dimensions say.
Tensor native_mask(const OpDef& op, const OpArgs& args, const Tensor& mask, DType dtype) {
  if (!mask.defined()) return mask;
  const Tensor added = additive(op, args, mask, "mask", dtype);
  const SymShape shape = sym_shape(added);
  const bool padding = !args.attrs.is_none("mask_type") && int_arg(args.attrs, "mask_type") == 1;
  if (!padding) return added;
  WEFT_CHECK(shape.size() == 2, fmt::format("{}: a mask of type 1 (key padding) must be [batch, keys]{}",
                                            op.name, describe_given(op, args)));
  return build::reshape(added, {shape[0], Sym(1), Sym(1), shape[1]});
}

// [batch, length, size], batch first.
std::vector<Tensor> self_attention(const OpDef& op, const OpArgs& args, const std::array<Tensor, 3>& x,
                                   int64_t num_heads, const SelfAttention& weights, const Tensor& mask,
                                   bool need_weights, bool average) {
  for (const Tensor& operand : x) {
    WEFT_CHECK(operand.dim() == 3, fmt::format("{}: expected operands [batch, length, size]{}", op.name,
                                               describe_given(op, args)));
  }
  const Sym size = size_of(x[0], 2), heads(num_heads), batch = size_of(x[0], 0);
  check_heads(op, size, num_heads);
  check_shape(op, args, weights.in_weight, "qkv_weight", {Sym(3) * size, size});
  std::array<Tensor, 3> projected = project_packed(x, weights.in_weight, weights.in_bias, size);
  for (Tensor& part : projected) {
    part = build::permute(build::reshape(part, {batch, size_of(part, 1), heads, floor_div(size, heads)}),
                          {0, 2, 1, 3});
  }
  const Attended attended =
      attend(projected, native_mask(op, args, mask, x[0].dtype()), need_weights, false, 0);
  const Tensor output =
      build::reshape(build::permute(attended.output, {0, 2, 1, 3}), {batch, size_of(x[0], 1), size});
  return {linear(output, weights.out_weight, weights.out_bias),
          need_weights ? averaged(attended.weights, average) : Tensor()};
}

std::vector<Tensor> native_multi_head(const OpDef& op, const OpArgs& args) {
  const std::vector<Tensor>& t = args.tensors;
  return self_attention(op, args, {t[0], t[1], t[2]}, int_arg(args.attrs, "num_head"),
                        {t[3], t[4], t[5], t[6]}, t[7], args.attrs.get_bool("need_weights"),
                        args.attrs.get_bool("average_attn_weights"));
}

std::vector<Tensor> encoder_layer(const OpDef& op, const OpArgs& args) {
  const std::vector<Tensor>& t = args.tensors;
  const Tensor& source = t[0];
  WEFT_CHECK(source.dim() == 3, fmt::format("{}: expected an operand [batch, length, size]{}", op.name,
                                            describe_given(op, args)));
  const bool norm_first = args.attrs.get_bool("norm_first");
  const auto norm = [&](const Tensor& x, size_t weight) {
    return call1("layer_norm", {x, t[weight], t[weight + 1]},
                 {{"normalized_shape", SymShape{sym_shape(x).back()}}, {"eps", args.attrs.at("eps")}});
  };
  const auto attention = [&](const Tensor& x) {
    return self_attention(op, args, {x, x, x}, int_arg(args.attrs, "num_heads"), {t[1], t[2], t[3], t[4]},
                          t[13], false, false)[0];
  };
  const auto feed_forward = [&](const Tensor& x) {
    const Tensor inner = linear(x, t[9], t[10]);
    return linear(args.attrs.get_bool("use_gelu") ? call1("gelu_erf", {inner}) : call1("relu", {inner}),
                  t[11], t[12]);
  };
  if (norm_first) {
    const Tensor x = build::add(source, attention(norm(source, 5)));
    return {build::add(x, feed_forward(norm(x, 7)))};
  }
  const Tensor x = norm(build::add(source, attention(source)), 5);
  return {norm(build::add(x, feed_forward(x)), 7)};
}

[[maybe_unused]] const OpDef* const kAttentionMultiheadOps[] = {
    &define_composite(
        "multi_head_attention_forward",
        "(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, Tensor? "
        "in_proj_weight, Tensor? in_proj_bias, "
        "Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, float dropout_p, Tensor out_proj_weight, "
        "Tensor? out_proj_bias, "
        "bool training=True, Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, "
        "bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, "
        "Tensor? v_proj_weight=None, "
        "Tensor? static_k=None, Tensor? static_v=None, bool average_attn_weights=True, bool is_causal=False) "
        "-> (Tensor, Tensor)",
        "Attention of several heads between projections: query [L, N, E], key [S, N, *], value [S, N, *], or "
        "all without N; gives\n"
        "([L, N, E], weights [N, L, S], or [N, heads, L, S], or None). Masks leave out where true, or are "
        "added: attn_mask [L, S] or\n"
        "[N * heads, L, S], key_padding_mask [N, S]. bias_k, bias_v and add_zero_attn: one more key each. "
        "Dropout is refused.\n"
        "A query that sees no key: NaN with need_weights, else zeros, as in PyTorch. source: Vaswani et al. "
        "2017; PyTorch's function.",
        "", [](const OpDef& op, const OpArgs& args) { return MultiHead(op, args).run(); }),
    &define_composite("_native_multi_head_attention",
                      "(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor "
                      "qkv_weight, Tensor qkv_bias, Tensor proj_weight, "
                      "Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool "
                      "average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
                      "Multi-head attention, batch first: ([N, L, E], weights or None). mask leaves out "
                      "where true: [L, L] (type 0), [N, L] (type 1).",
                      "", native_multi_head, {"native_multi_head_attention"}),
    &define_composite("_transformer_encoder_layer_fwd",
                      "(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor "
                      "proj_weight, Tensor proj_bias, bool use_gelu, "
                      "bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor "
                      "norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, "
                      "Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? "
                      "mask_type=None) -> Tensor",
                      "A layer of a transformer's encoder, batch first: self-attention and two linear "
                      "layers, each added to its input and normalized.",
                      "", encoder_layer, {"transformer_encoder_layer_fwd"}),
};

}  // namespace
}  // namespace weft::ops
