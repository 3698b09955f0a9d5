// The model: each function below is one reading of the same formula.
#include "weft/models/llama.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "core/memory_watch.h"
#include "kernels/cpu/cached_attention.h"
#include "models/llama_device.h"
#include "models/llama_plan.h"
#include "models/llama_ranks.h"
#include "models/llama_weights.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

constexpr int64_t kMostPositionsByDefault = 8192;

// Token ids to rows; float32.
template <class T>
void gather_rows(const Tensor& table, std::span<const int64_t> tokens, float* out) {
  const int64_t hidden = table.size(1);
  const T* rows = table.data_as<T>();
  for (const int64_t token : tokens) {
    for (int64_t i = 0; i < hidden; ++i) *out++ = static_cast<float>(rows[token * hidden + i]);
  }
}

InputPrecision parse_precision(const std::string& name) {
  if (name.empty() || name == "auto") return InputPrecision::Auto;
  if (name == "float32") return InputPrecision::Float32;
  if (name == "int16") return InputPrecision::Int16;
  if (name == "int8") return InputPrecision::Int8;
  if (name == "bfloat16") return InputPrecision::BFloat16;
  throw_error(ErrorKind::Value,
              fmt::format("activations must be auto, float32, int16, int8 or bfloat16, got '{}'", name));
}

}  // namespace

Tensor rope_table(const LlamaConfig& config, int64_t positions) {
  const int64_t half = config.head_dim / 2;
  Tensor table = Tensor::empty({positions, half, 2}, DType::F32);
  float* out = table.data_as<float>();
  std::vector<float> frequencies;
  for (int64_t i = 0; i < half; ++i) {
    double frequency = 1.0 / std::pow(config.rope_theta,
                                      2.0 * static_cast<double>(i) / static_cast<double>(config.head_dim));
    if (config.rope_scaling == RopeScaling::Linear) frequency /= config.rope_factor;
    if (config.rope_scaling == RopeScaling::Llama3) {
      const double original = static_cast<double>(config.rope_original_positions),
                   wavelength = 2 * std::numbers::pi / frequency;
      const double low = config.rope_low_freq_factor, high = config.rope_high_freq_factor;
      if (wavelength > original / low)
        frequency /= config.rope_factor;
      else if (wavelength > original / high) {
        const double smooth = (original / wavelength - low) / (high - low);
        frequency = (1 - smooth) * frequency / config.rope_factor + smooth * frequency;
      }
    }
    frequencies.push_back(static_cast<float>(frequency));
  }
  for (int64_t position = 0; position < positions; ++position)
    for (int64_t i = 0; i < half; ++i) {
      // The product in float32, as the models were trained.
      const float angle = static_cast<float>(position) * frequencies[static_cast<size_t>(i)];
      *out++ = std::cos(angle);
      *out++ = std::sin(angle);
    }
  return table;
}

Llama::Llama(LlamaConfig config, LlamaOptions options, LlamaWeights& weights)
    : config_(std::move(config)), options_(std::move(options)) {
  config_.check();
  WEFT_CHECK(options_.max_positions >= 0,
             fmt::format("max_positions must be at least 0, got {}", options_.max_positions));
  WEFT_CHECK(options_.max_positions <= config_.max_position_embeddings,
             fmt::format("max_positions {} is more than the model's {}", options_.max_positions,
                         config_.max_position_embeddings));
  if (options_.max_positions == 0)
    options_.max_positions = std::min(config_.max_position_embeddings, kMostPositionsByDefault);
  precision_ = parse_precision(options_.activations);
  divide();
  if (options_.device != Device()) {
    WEFT_CHECK(share_.size == 1, "a model on " + options_.device.str() + " has no tensor parallelism");
    require_available(options_.device);
    rope_ = rope_table(config_, options_.max_positions);
    on_device_ = std::make_unique<LlamaDevice>(config_, options_, weights, rope_);
    options_.progress = nullptr;
    return;
  }
  const auto part_of = [&](int64_t own) { return Range{share_.rank * own, (share_.rank + 1) * own}; };
  const Range query_rows = part_of(share_.heads * config_.head_dim),
              kv_rows = part_of(share_.kv_heads * config_.head_dim),
              between = intermediate_range(config_, options_.quantize, share_.rank, share_.size),
              words = vocab_range(config_, share_.rank, share_.size);
  const bool is_divided = share_.size > 1;
  const auto rows = [&](Range range) { return is_divided ? MatrixPart{.rows = range} : MatrixPart{}; };
  const auto columns = [&](Range range) { return is_divided ? MatrixPart{.columns = range} : MatrixPart{}; };
  const int64_t steps = config_.num_layers + 1;
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    const std::string prefix = fmt::format("model.layers.{}.", i);
    Layer layer;
    layer.attention_norm = weights.vector(prefix + "input_layernorm.weight", config_.hidden_size);
    layer.mlp_norm = weights.vector(prefix + "post_attention_layernorm.weight", config_.hidden_size);
    const int64_t heads = config_.num_heads * config_.head_dim, kv = config_.num_kv_heads * config_.head_dim,
                  hidden = config_.hidden_size, intermediate = config_.intermediate_size;
    layer.qkv = PackedLinear(std::vector{
        weights.linear(prefix + "self_attn.q_proj", heads, hidden, config_.qkv_bias, rows(query_rows)),
        weights.linear(prefix + "self_attn.k_proj", kv, hidden, config_.qkv_bias, rows(kv_rows)),
        weights.linear(prefix + "self_attn.v_proj", kv, hidden, config_.qkv_bias, rows(kv_rows))});
    // What is added over the ranks has its bias once.
    const bool output_bias = config_.output_bias && share_.rank == 0,
               down_bias = config_.mlp_bias && share_.rank == 0;
    layer.output = PackedLinear(
        weights.linear(prefix + "self_attn.o_proj", hidden, heads, output_bias, columns(query_rows)));
    layer.gate_up = PackedLinear::gated(
        weights.linear(prefix + "mlp.gate_proj", intermediate, hidden, config_.mlp_bias, rows(between)),
        weights.linear(prefix + "mlp.up_proj", intermediate, hidden, config_.mlp_bias, rows(between)));
    layer.down = PackedLinear(
        weights.linear(prefix + "mlp.down_proj", hidden, intermediate, down_bias, columns(between)));
    layers_.push_back(std::move(layer));
    if (options_.progress) options_.progress(i + 1, steps);
  }
  norm_ = weights.vector("model.norm.weight", config_.hidden_size);
  embedding_ = weights.embedding("model.embed_tokens.weight", config_.vocab_size, config_.hidden_size);
  lm_head_ = PackedLinear(
      config_.tie_word_embeddings
          ? weights.tied_head("model.embed_tokens.weight", config_.vocab_size, config_.hidden_size,
                              rows(words))
          : weights.linear("lm_head", config_.vocab_size, config_.hidden_size, false, rows(words)));
  rope_ = rope_table(config_, options_.max_positions);
  if (options_.progress) options_.progress(steps, steps);
  options_.progress = nullptr;  // what it refers to may be gone when loading is over
}

Llama::~Llama() = default;

int64_t Llama::bytes_per_token() const {
  if (on_device_ != nullptr) return on_device_->bytes_per_token();
  int64_t bytes = lm_head_.weight_bytes();
  for (const Layer& layer : layers_)
    bytes += layer.qkv.weight_bytes() + layer.output.weight_bytes() + layer.gate_up.weight_bytes() +
             layer.down.weight_bytes();
  return bytes;
}

KVCache Llama::make_cache(int64_t capacity) const {
  WEFT_CHECK(
      capacity >= 0 && capacity <= options_.max_positions,
      fmt::format("cache: capacity must be between 0 and {}, got {}", options_.max_positions, capacity));
  KVCache cache;
  cache.capacity = capacity == 0 ? options_.max_positions : capacity;
  const DType dtype = *dtype_from_name(options_.cache_dtype);
  for (int64_t i = 0; i < config_.num_layers; ++i)
    for (auto* list : {&cache.keys, &cache.values})
      list->push_back(
          Tensor::full({share_.kv_heads, cache.capacity, config_.head_dim}, 0.0, dtype, options_.device));
  return cache;
}

Tensor Llama::forward(std::span<const int64_t> tokens, KVCache& cache, bool all_logits) const {
  return forward(tokens, cache, all_logits, options_.execution);
}

Tensor Llama::forward(std::span<const int64_t> tokens, KVCache& cache, bool all_logits,
                      Execution execution) const {
  WEFT_CHECK(!tokens.empty(), "forward: no tokens");
  const int64_t count = static_cast<int64_t>(tokens.size());
  check_cache(cache, count, execution);
  for (const int64_t token : tokens)
    WEFT_CHECK_INDEX(
        token >= 0 && token < config_.vocab_size,
        fmt::format("forward: token id {} is outside the vocabulary of {}", token, config_.vocab_size));
  Tensor logits;
  if (on_device_ != nullptr) {
    logits = on_device_->run(tokens, cache, all_logits);
  } else if (execution == Execution::Compiled) {
    if (!cache.plan || !cache.plan->fits(*this, cache))
      cache.plan = std::make_shared<LlamaPlan>(shared_from_this(), cache);
    logits = cache.plan->run(*this, tokens, cache.length, all_logits);
  } else {
    logits = forward_functions(tokens, cache, all_logits, execution == Execution::Static);
  }
  cache.length += count;
  return logits;
}

void Llama::check_cache(const KVCache& cache, int64_t new_tokens, Execution execution) const {
  const size_t layers = static_cast<size_t>(config_.num_layers);
  WEFT_CHECK(cache.keys.size() == layers && cache.values.size() == layers,
             fmt::format("forward: the cache has keys of {} layers and values of {}, the model has {}",
                         cache.keys.size(), cache.values.size(), layers));
  WEFT_CHECK(cache.length >= 0 && new_tokens <= cache.capacity - cache.length,
             fmt::format("forward: {} tokens after {} do not fit into a cache of {}", new_tokens,
                         cache.length, cache.capacity));
  WEFT_CHECK(cache.length + new_tokens <= options_.max_positions,
             fmt::format("forward: {} tokens after {} are more than the model's {} positions", new_tokens,
                         cache.length, options_.max_positions));
  const bool grows = execution == Execution::Eager && on_device_ == nullptr;
  for (const auto& [what, tensors] : {std::pair{"keys", &cache.keys}, std::pair{"values", &cache.values}})
    for (size_t i = 0; i < tensors->size(); ++i) {
      const Tensor& tensor = (*tensors)[i];
      WEFT_CHECK(tensor.defined(), fmt::format("forward: the cache has no {} of layer {}", what, i));
      WEFT_CHECK(tensor.device() == options_.device,
                 fmt::format("forward: the cache's {} of layer {} are on {}, the model is on {}", what, i,
                             tensor.device().str(), options_.device.str()));
      const bool has_sizes =
          tensor.dim() == 3 && tensor.size(0) == share_.kv_heads && tensor.size(2) == config_.head_dim;
      WEFT_CHECK(
          has_sizes && (grows ? tensor.size(1) >= cache.length
                              : tensor.size(1) == cache.capacity && tensor.is_contiguous()),
          fmt::format("forward: the cache's {} of layer {} are {}, expected a contiguous [{}, {}, {}]: "
                      "[key-value heads, capacity, head dimension]; "
                      "it is another model's, or eager execution has grown it",
                      what, i, describe(tensor), share_.kv_heads, cache.capacity, config_.head_dim));
      const DType dtype = tensor.dtype();
      WEFT_CHECK_TYPE(dtype == cache.keys[0].dtype() &&
                          (dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16),
                      fmt::format("forward: the cache's {} of layer {} are {}, expected one of float32, "
                                  "float16 and bfloat16 for all",
                                  what, i, name(dtype)));
    }
}

void Llama::embed(std::span<const int64_t> tokens, float* out) const {
  switch (embedding_.dtype()) {
    case DType::F32: return gather_rows<float>(embedding_, tokens, out);
    case DType::F16: return gather_rows<Half>(embedding_, tokens, out);
    default: return gather_rows<BFloat16>(embedding_, tokens, out);
  }
}

Tensor Llama::forward_functions(std::span<const int64_t> tokens, KVCache& cache, bool all_logits,
                                bool static_cache) const {
  Tensor x = Tensor::empty({static_cast<int64_t>(tokens.size()), config_.hidden_size},
                           DType::F32);  // [tokens, hidden]
  embed(tokens, x.data_as<float>());
  for (size_t i = 0; i < layers_.size(); ++i) x = run_layer(i, x, cache, static_cache);
  if (!all_logits) x = slice(x, 0, x.size(0) - 1, x.size(0));  // [1, hidden]
  const Tensor own = lm_head_(rms_norm(x, {config_.hidden_size}, norm_, config_.rms_norm_eps),
                              {.precision = precision_});  // [tokens or 1, vocab]
  if (share_.size == 1) return own;
  const int64_t rows = own.size(0), block = share_.vocab_block;
  const Tensor padded = Tensor::full({rows, block}, 0.0, DType::F32),
               others = Tensor::empty({share_.size, rows, block}, DType::F32),
               logits = Tensor::empty({rows, config_.vocab_size}, DType::F32);
  slice(padded, 1, 0, share_.vocab).copy_from(own);
  gather_logits(padded, others, logits);
  return logits;
}

Tensor Llama::run_layer(size_t i, const Tensor& x, KVCache& cache, bool static_cache,
                        const Observer& observe) const {
  const Layer& layer = layers_[i];
  const auto tell = [&](const char* products, const Tensor& input) {
    if (observe) observe(products, input);
  };
  Tensor normed = rms_norm(x, {config_.hidden_size}, layer.attention_norm, config_.rms_norm_eps);
  tell("qkv", normed);
  const Tensor qkv = layer.qkv(normed, {.precision = precision_});  // [tokens, (heads + 2 kv_heads) head_dim]
  const Tensor attended = static_cache ? attend_static(qkv, cache, i)
                                       : attend_growing(qkv, cache, i);  // [tokens, heads head_dim]
  tell("output", attended);
  const Tensor added =
      layer.output(attended, {.residual = residual(x), .precision = precision_});  // [tokens, hidden]
  sum_over_ranks(added);
  normed = rms_norm(added, {config_.hidden_size}, layer.mlp_norm, config_.rms_norm_eps);
  tell("gate_up", normed);
  const Tensor gated = layer.gate_up(
      normed, {.activation = LinearActivation::Silu, .precision = precision_});  // [tokens, intermediate]
  tell("down", gated);
  const Tensor result =
      layer.down(gated, {.residual = residual(added), .precision = precision_});  // [tokens, hidden]
  sum_over_ranks(result);
  return result;
}

kernels::CachedAttention Llama::cached_attention(size_t layer, const Tensor& qkv, const Tensor& keys,
                                                 const Tensor& values, const Tensor& output) const {
  return {.qkv = qkv.data_as<float>(),
          .rope = rope_.data_as<float>(),
          .key_cache = keys.data(),
          .value_cache = values.data(),
          .dtype = keys.dtype(),
          .tokens = qkv.size(0),
          .heads = share_.heads,
          .kv_heads = share_.kv_heads,
          .head_dim = config_.head_dim,
          .capacity = keys.size(1),
          .position = 0,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config_.head_dim))),
          .sliding_window = config_.window_of(static_cast<int64_t>(layer)),
          .rope_interleaved = config_.rope_interleaved,
          .output = output.data_as<float>(),
          .may_round = precision_ == InputPrecision::BFloat16};
}

Tensor Llama::attend_static(const Tensor& qkv, KVCache& cache, size_t i) const {
  const Tensor &keys = cache.keys[i], &values = cache.values[i];
  if (precision_ != InputPrecision::BFloat16)
    return attention_with_kv_cache(qkv, keys, values, Tensor::scalar(cache.length, DType::I64), rope_,
                                   std::nullopt, config_.window_of(static_cast<int64_t>(i)),
                                   config_.rope_interleaved);
  // The operator does not round.
  const Tensor output = Tensor::empty({qkv.size(0), share_.heads * config_.head_dim}, DType::F32);
  kernels::CachedAttention call = cached_attention(i, qkv, keys, values, output);
  call.position = cache.length;
  const WriteNote of_keys(*keys.storage()), of_values(*values.storage());
  kernels::attention_with_kv_cache(call);
  return output;
}

// Keys and values grow by concatenation, and every mask is made anew: attention written with plain tensor
// functions.
Tensor Llama::attend_growing(const Tensor& qkv, KVCache& cache, size_t i) const {
  const int64_t tokens = qkv.size(0), heads = share_.heads, kv_heads = share_.kv_heads,
                dim = config_.head_dim, half = dim / 2;
  const int64_t past = cache.length, total = past + tokens;
  const Tensor split = reshape(qkv, {tokens, heads + 2 * kv_heads, dim});
  const Tensor angles = slice(rope_, 0, past, total);  // [tokens, head_dim / 2, 2]
  const Tensor cosine = unsqueeze(select(angles, 2, 0), 1), sine = unsqueeze(select(angles, 2, 1), 1);
  const auto rotate = [&](const Tensor& x) {  // [tokens, n, head_dim]
    const int64_t n = x.size(1);
    const Tensor pairs = config_.rope_interleaved ? reshape(x, {tokens, n, half, 2})
                                                  : transpose(reshape(x, {tokens, n, 2, half}), 2, 3);
    const Tensor a = select(pairs, 3, 0), b = select(pairs, 3, 1);  // [tokens, n, head_dim / 2]
    const Tensor turned_a = a * cosine - b * sine, turned_b = b * cosine + a * sine;
    const Tensor joined = stack({turned_a, turned_b}, config_.rope_interleaved ? 3 : 2);
    return transpose(reshape(joined, {tokens, n, dim}), 0, 1);  // [n, tokens, head_dim]
  };
  const Tensor query = rotate(slice(split, 1, 0, heads));
  const auto grown = [&](Tensor& kept, const Tensor& fresh) {
    kept = past == 0 ? fresh.contiguous() : concatenate({slice(kept, 1, 0, past), fresh}, 1);
    return kept;  // [kv_heads, total, head_dim]
  };
  const DType dtype = cache.keys[i].dtype();
  const Tensor keys =
      grown(cache.keys[i], rotate(slice(split, 1, heads, heads + kv_heads)).to(dtype)).to(DType::F32);
  const Tensor values =
      grown(cache.values[i],
            transpose(slice(split, 1, heads + kv_heads, heads + 2 * kv_heads), 0, 1).to(dtype))
          .to(DType::F32);
  const Tensor row = unsqueeze(arange(past, total), 1), column = arange(0, total);
  Tensor mask = row >= column;  // [tokens, total]
  if (const auto window = config_.window_of(static_cast<int64_t>(i)))
    mask = logical_and(mask, row - column < *window);
  const Tensor attended =
      scaled_dot_product_attention(query, keys, values, mask, 0.0, false, std::nullopt, true);
  return reshape(transpose(attended, 0, 1), {tokens, heads * dim});
}

}  // namespace weft::models
