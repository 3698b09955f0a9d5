#include "models/llama_device.h"

#include <fmt/format.h>

#include "ops/registry.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

int64_t bytes_of(const Tensor& tensor) {
  return tensor.defined() ? tensor.numel() * itemsize(tensor.dtype()) : 0;
}

// activation(x w^T + bias) + residual
Tensor linear_layer(const Tensor& x, const LinearWeight& w, const char* activation = "none",
                    const Tensor& residual = {}) {
  return ops::call1("linear_packed", {x, w.weight, w.scales, w.bias, residual},
                    {{"group_size", Sym(w.group_size)},
                     {"activation", std::string(activation)},
                     {"precision", std::string("float32")}});
}

}  // namespace

LinearWeight LlamaDevice::moved(const LinearWeight& weight) {
  LinearWeight result = weight;
  for (Tensor* part : {&result.weight, &result.scales, &result.bias}) {
    if (part->defined()) *part = moved(part->contiguous());
  }
  bytes_ += bytes_of(result.weight) + bytes_of(result.scales);
  return result;
}

LlamaDevice::LlamaDevice(const LlamaConfig& config, const LlamaOptions& options, LlamaWeights& weights,
                         const Tensor& rope)
    : config_(config), device_(options.device), rope_(rope.to(options.device)) {
  const int64_t heads = config.num_heads * config.head_dim, kv = config.num_kv_heads * config.head_dim,
                hidden = config.hidden_size, intermediate = config.intermediate_size,
                steps = config.num_layers + 1;
  const auto tell = [&](int64_t done) {
    if (options.progress) options.progress(done, steps);
  };
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const std::string prefix = fmt::format("model.layers.{}.", i);
    const auto linear = [&](const char* name, int64_t out, int64_t in, bool bias) {
      return moved(weights.linear(prefix + name, out, in, bias));
    };
    layers_.push_back({.attention_norm = moved(weights.vector(prefix + "input_layernorm.weight", hidden)),
                       .mlp_norm = moved(weights.vector(prefix + "post_attention_layernorm.weight", hidden)),
                       .query = linear("self_attn.q_proj", heads, hidden, config.qkv_bias),
                       .key = linear("self_attn.k_proj", kv, hidden, config.qkv_bias),
                       .value = linear("self_attn.v_proj", kv, hidden, config.qkv_bias),
                       .output = linear("self_attn.o_proj", hidden, heads, config.output_bias),
                       .gate = linear("mlp.gate_proj", intermediate, hidden, config.mlp_bias),
                       .up = linear("mlp.up_proj", intermediate, hidden, config.mlp_bias),
                       .down = linear("mlp.down_proj", hidden, intermediate, config.mlp_bias)});
    tell(i + 1);
  }
  norm_ = moved(weights.vector("model.norm.weight", hidden));
  embedding_ = moved(weights.embedding("model.embed_tokens.weight", config.vocab_size, hidden));
  lm_head_ = moved(config.tie_word_embeddings
                       ? weights.tied_head("model.embed_tokens.weight", config.vocab_size, hidden)
                       : weights.linear("lm_head", config.vocab_size, hidden));
  tell(steps);
}

Tensor LlamaDevice::hidden(std::span<const int64_t> tokens,
                           const std::function<Tensor(size_t layer, const Tensor& qkv)>& attention) const {
  const Tensor numbers = Tensor::of<int64_t>({tokens.begin(), tokens.end()}).to(device_);
  const auto normed = [&](const Tensor& x, const Tensor& weight) {
    return rms_norm(x, {config_.hidden_size}, weight, config_.rms_norm_eps);
  };
  Tensor x = ops::call1("embedding", {numbers, embedding_}).to(DType::F32);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const Tensor input = normed(x, layer.attention_norm);
    const Tensor qkv = concatenate(
        {linear_layer(input, layer.query), linear_layer(input, layer.key), linear_layer(input, layer.value)},
        1);
    x = linear_layer(attention(i, qkv), layer.output, "none", x);
    const Tensor between = normed(x, layer.mlp_norm);
    x = linear_layer(linear_layer(between, layer.gate, "silu") * linear_layer(between, layer.up), layer.down,
                     "none", x);
  }
  return x;
}

Tensor LlamaDevice::attend(size_t layer, const Tensor& qkv, const Tensor& keys, const Tensor& values,
                           const Tensor& position) const {
  return attention_with_kv_cache(qkv, keys, values, position, rope_, std::nullopt,
                                 config_.window_of(static_cast<int64_t>(layer)), config_.rope_interleaved);
}

Tensor LlamaDevice::logits(const Tensor& x) const {
  return linear_layer(rms_norm(x, {config_.hidden_size}, norm_, config_.rms_norm_eps), lm_head_).to(Device());
}

Tensor LlamaDevice::run(std::span<const int64_t> tokens, KVCache& cache, bool all_logits) const {
  const Tensor position = Tensor::scalar(cache.length, DType::I64).to(device_);
  Tensor x = hidden(tokens, [&](size_t layer, const Tensor& qkv) {
    return attend(layer, qkv, cache.keys[layer], cache.values[layer], position);
  });
  if (!all_logits) x = slice(x, 0, x.size(0) - 1, x.size(0));
  return logits(x);
}

}  // namespace weft::models
