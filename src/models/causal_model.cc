#include "weft/models/causal_model.h"

#include <fmt/format.h>

#include <cmath>

#include "kernels/cpu/attention_rule.h"
#include "kernels/cpu/cached_elements.h"
#include "models/decoder_weights.h"
#include "models/step_plan.h"
#include "weft/error.h"
#include "weft/ops.h"
#include "weft/parallel.h"

namespace weft::models {
namespace {

constexpr int64_t kMostPositionsByDefault = 8192;

InputPrecision parse_precision(const std::string& name) {
  if (name.empty() || name == "auto") return InputPrecision::Weights;
  if (name == "float32") return InputPrecision::Float32;
  if (name == "int16") return InputPrecision::Int16;
  if (name == "int8") return InputPrecision::Int8;
  if (name == "bfloat16") return InputPrecision::BFloat16;
  throw_error(ErrorKind::Value,
              fmt::format("activations must be auto, float32, int16, int8 or bfloat16, got '{}'", name));
}

}  // namespace

CausalModel::CausalModel(DecoderConfig config, ModelOptions options, WeightSource& weights)
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
  check_cache_dtype();
  share_ = std::make_unique<Share>(share_of(config_, options_));
  if (options_.device != Device()) {
    WEFT_CHECK(share_->size == 1, "a model on " + options_.device.str() + " has no tensor parallelism");
    require_available(options_.device);
  }
  weights_ = load_weights(config_, options_, *share_, weights);
  options_.progress = nullptr;  // what it refers to may be gone when loading is over
}

CausalModel::~CausalModel() = default;

void CausalModel::check_cache_dtype() const {
  if (options_.cache_dtype != "int8") return;
  WEFT_CHECK(options_.device == Device(),
             fmt::format("cache_dtype int8 is for models on the CPU, not on {}", options_.device.str()));
  for (int64_t i = 0; i < config_.num_layers; ++i)
    WEFT_CHECK(!config_.layer(i).is_convolution && !config_.layer(i).is_delta,
               fmt::format("cache_dtype int8 is for keys and values, and layer {} is a {}; use bfloat16", i,
                           config_.layer(i).is_delta ? "delta rule" : "convolution"));
}

int64_t CausalModel::bytes_per_token() const { return weights_->bytes_per_token; }

CausalModel::CacheShape CausalModel::cache_shape(int64_t layer) const {
  if (config_.layer(layer).is_convolution) return {1, config_.hidden_size, 0};
  if (config_.layer(layer).is_delta) return {1, config_.delta->channels(), 0};
  const int64_t row = kernels::cached_row(*dtype_from_name(options_.cache_dtype), config_.head_dim);
  return {share_->kv_heads, row, row};
}

Shape CausalModel::state_shape() const {
  return {config_.delta->value_heads, config_.delta->key_dim, config_.delta->value_dim};
}

std::optional<int64_t> CausalModel::long_text_from() const {
  std::optional<int64_t> from;
  for (const DecoderWeights::RopeTable& table : weights_->ropes)
    if (table.of_long.defined())
      from = std::min(from.value_or(table.original_positions), table.original_positions);
  return from;
}

KVCache CausalModel::make_cache(int64_t capacity) const {
  WEFT_CHECK(
      capacity >= 0 && capacity <= options_.max_positions,
      fmt::format("cache: capacity must be between 0 and {}, got {}", options_.max_positions, capacity));
  KVCache cache;
  cache.capacity = capacity == 0 ? options_.max_positions : capacity;
  const DType dtype = *dtype_from_name(options_.cache_dtype);
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    const auto [heads, key_dim, value_dim] = cache_shape(i);
    cache.keys.push_back(Tensor::full({heads, cache.capacity, key_dim}, 0.0, dtype, options_.device));
    if (config_.layer(i).is_delta)
      cache.values.push_back(Tensor::full(state_shape(), 0.0, DType::F32, options_.device));
    else
      cache.values.push_back(Tensor::full({heads, cache.capacity, value_dim}, 0.0, dtype, options_.device));
  }
  return cache;
}

Tensor CausalModel::forward(std::span<const int64_t> tokens, KVCache& cache, bool all_logits) const {
  return forward(tokens, cache, all_logits, options_.execution);
}

Tensor CausalModel::forward(std::span<const int64_t> tokens, KVCache& cache, bool all_logits,
                            Execution execution) const {
  WEFT_CHECK(!tokens.empty(), "forward: no tokens");
  const int64_t count = static_cast<int64_t>(tokens.size());
  check_cache(cache, count, execution);
  for (const int64_t token : tokens)
    WEFT_CHECK_INDEX(
        token >= 0 && token < config_.vocab_size,
        fmt::format("forward: token id {} is outside the vocabulary of {}", token, config_.vocab_size));
  Tensor logits;
  if (execution == Execution::Compiled && options_.device == Device()) {
    if (!cache.plan || !cache.plan->fits(*this, cache))
      cache.plan = std::make_shared<StepPlan>(shared_from_this(), cache);
    logits =
        cache.plan->run(*this, tokens, cache.length, std::max(cache.text, cache.length + count), all_logits);
  } else {
    logits = forward_functions(tokens, cache, all_logits, execution);
  }
  cache.in_states = cache.length += count;
  return logits;
}

void CausalModel::check_cache(const KVCache& cache, int64_t new_tokens, Execution execution) const {
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
  WEFT_CHECK(!config_.has_states() || cache.length == 0 || cache.length == cache.in_states,
             fmt::format("forward: the cache was set back to {} tokens of {}, and the states of this model's "
                         "delta rules cannot be; set it to 0, or make another",
                         cache.length, cache.in_states));
  const bool grows = execution == Execution::Eager && options_.device == Device();
  for (const auto& [what, tensors] : {std::pair{"keys", &cache.keys}, std::pair{"values", &cache.values}})
    for (size_t i = 0; i < tensors->size(); ++i) {
      const Tensor& tensor = (*tensors)[i];
      const CacheShape shape = cache_shape(static_cast<int64_t>(i));
      const int64_t dim = tensors == &cache.keys ? shape.key_dim : shape.value_dim;
      WEFT_CHECK(tensor.defined(), fmt::format("forward: the cache has no {} of layer {}", what, i));
      if (tensors == &cache.values && config_.layer(static_cast<int64_t>(i)).is_delta) {
        WEFT_CHECK(
            tensor.shape() == state_shape() && tensor.dtype() == DType::F32 && tensor.is_contiguous() &&
                tensor.device() == options_.device,
            fmt::format("forward: the cache's state of layer {} is {}, expected a contiguous float32 {}", i,
                        describe(tensor), str(state_shape())));
        continue;
      }
      WEFT_CHECK(tensor.device() == options_.device,
                 fmt::format("forward: the cache's {} of layer {} are on {}, the model is on {}", what, i,
                             tensor.device().str(), options_.device.str()));
      const bool has_sizes = tensor.dim() == 3 && tensor.size(0) == shape.heads && tensor.size(2) == dim;
      WEFT_CHECK(
          has_sizes && (grows ? tensor.size(1) >= cache.length
                              : tensor.size(1) == cache.capacity && tensor.is_contiguous()),
          fmt::format("forward: the cache's {} of layer {} are {}, expected a contiguous [{}, {}, {}]: "
                      "[key-value heads, capacity, head dimension]; "
                      "it is another model's, or eager execution has grown it",
                      what, i, describe(tensor), shape.heads, cache.capacity, dim));
      const DType dtype = tensor.dtype();
      const bool is_int8 = options_.cache_dtype == "int8";  // its rows are longer
      WEFT_CHECK_TYPE(dtype == cache.keys[0].dtype() &&
                          (is_int8 ? dtype == DType::I8
                                   : dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16),
                      fmt::format("forward: the cache's {} of layer {} are {}, expected {} for all", what, i,
                                  name(dtype), is_int8 ? "int8" : "one of float32, float16 and bfloat16"));
    }
}

void CausalModel::embed(std::span<const int64_t> tokens, const std::function<int64_t(int64_t row)>& position,
                        float* out) const {
  weights_->embedding.gather(tokens, out);
  const int64_t hidden = config_.hidden_size, rows = static_cast<int64_t>(tokens.size());
  if (config_.embedding_scale != 1) {
    const auto scale = static_cast<float>(config_.embedding_scale);
    for (int64_t i = 0; i < rows * hidden; ++i) out[i] *= scale;
  }
  if (!weights_->positions.defined()) return;
  const Tensor row = Tensor::empty({1, hidden}, DType::F32);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t number[] = {position(i) + config_.position_offset};
    weights_->positions.gather(number, row.data_as<float>());
    for (int64_t d = 0; d < hidden; ++d) out[i * hidden + d] += row.data_as<float>()[d];
  }
}

void CausalModel::finish_logits(const Tensor& logits) const {
  if (config_.logit_scale == 1 && config_.logit_cap == 0) return;
  const auto scale = static_cast<float>(config_.logit_scale), cap = static_cast<float>(config_.logit_cap);
  float* const values = logits.data_as<float>();
  parallel_for(0, logits.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      values[i] *= scale;
      if (cap > 0) values[i] = cap * std::tanh(values[i] / cap);
    }
  });
}

kernels::AttentionRule CausalModel::attention_rule(size_t layer) const {
  const LayerKind& kind = config_.layer(static_cast<int64_t>(layer));
  const double scale = config_.score_scale.value_or(1.0 / std::sqrt(static_cast<double>(config_.head_dim)));
  kernels::AttentionRule rule{.rope = nullptr,
                              .scale = static_cast<float>(scale * kind.score_factor),
                              .sliding_window = kind.window,
                              .rope_interleaved = false,
                              .rotary_dim = 0,
                              .chunk = kind.chunk,
                              .soft_cap = static_cast<float>(config_.score_cap)};
  if (kind.rope) {
    const DecoderWeights::RopeTable& table = weights_->ropes[*kind.rope];
    rule.rope = table.of_short.data_as<float>();
    rule.rope_interleaved = config_.ropes[*kind.rope].interleaved;
    rule.rotary_dim = table.dim;
    if (table.of_long.defined()) rule.long_rope = table.of_long.data_as<float>();
    rule.long_from = table.original_positions;
  }
  const DecoderLayer& weights = weights_->layers[layer];
  if (weights.sinks.defined()) rule.sinks = weights.sinks.data_as<float>();
  if (config_.alibi) {
    rule.slopes = weights_->slopes.data_as<float>();
    rule.slope_scale = config_.alibi->is_scaled ? rule.scale : 1.0f;
    rule.rounds_slopes = config_.alibi->is_rounded;
  }
  if (weights.turned_query_weight.defined())
    rule.query_weights = weights.turned_query_weight.data_as<float>(),
    rule.key_weights = weights.turned_key_weight.data_as<float>();
  if (kind.has_temperature) rule.temperature = static_cast<float>(config_.temperature);
  rule.temperature_positions = config_.temperature_positions;
  rule.temperature_from = config_.temperature_from;
  return rule;
}

}  // namespace weft::models
