#include "models/llama_plan.h"

#include <cmath>

#include "kernels/cpu/cached_attention.h"
#include "kernels/cpu/norm.h"

namespace weft::models {
namespace {

constexpr size_t kMostSteps = 4;  // numbers of tokens whose lists are kept

}  // namespace

struct LlamaPlan::Step {
  Tensor x, logits;
  std::vector<std::function<void()>> calls;
};

LlamaPlan::LlamaPlan(const Llama& model) : model_(model) {}
LlamaPlan::~LlamaPlan() = default;

std::unique_ptr<LlamaPlan::Step> LlamaPlan::make_step(int64_t tokens, KVCache& cache, bool all_logits) {
  const LlamaConfig& config = model_.config_;
  const auto buffer = [&](int64_t rows, int64_t columns) { return Tensor::empty({rows, columns}, DType::F32); };
  const int64_t hidden = config.hidden_size, heads = config.num_heads * config.head_dim;
  auto step = std::make_unique<Step>();
  auto& calls = step->calls;
  const Tensor x = step->x = buffer(tokens, hidden), normed = buffer(tokens, hidden), attended = buffer(tokens, heads);
  const Tensor qkv = buffer(tokens, heads + 2 * config.num_kv_heads * config.head_dim), gated = buffer(tokens, config.intermediate_size);
  const auto norm = [&](const Tensor& from, const Tensor& weight, const Tensor& to) {
    calls.push_back([=, eps = config.rms_norm_eps, hidden = hidden] { kernels::normalize_rows(from, hidden, false, eps, weight, Tensor(), to); });
  };
  enum class Then { Nothing, Add, Gate };
  const auto product = [&](const PackedLinear& weights, const Tensor& from, const Tensor& to, Then then) {
    const LinearActivation activation = then == Then::Gate ? LinearActivation::Silu : LinearActivation::None;
    calls.push_back([=, &weights, precision = model_.precision_] { weights.forward(from, to, {.activation = activation, .residual = then == Then::Add ? &to : nullptr, .precision = precision}); });
  };
  for (size_t i = 0; i < model_.layers_.size(); ++i) {
    const Llama::Layer& layer = model_.layers_[i];
    norm(x, layer.attention_norm, normed);
    product(layer.qkv, normed, qkv, Then::Nothing);
    kernels::CachedAttention attention{.qkv = qkv.data_as<float>(), .rope = model_.rope_.data_as<float>(), .key_cache = cache.keys[i].data(),
                                       .value_cache = cache.values[i].data(), .dtype = cache.keys[i].dtype(), .tokens = tokens,
                                       .heads = config.num_heads, .kv_heads = config.num_kv_heads, .head_dim = config.head_dim,
                                       .capacity = cache.capacity, .position = 0,
                                       .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))),
                                       .sliding_window = config.sliding_window, .rope_interleaved = config.rope_interleaved,
                                       .output = attended.data_as<float>()};
    calls.push_back([this, attention]() mutable {
      attention.position = position_;
      kernels::attention_with_kv_cache(attention);
    });
    product(layer.output, attended, x, Then::Add);
    norm(x, layer.mlp_norm, normed);
    product(layer.gate_up, normed, gated, Then::Gate);
    product(layer.down, gated, x, Then::Add);
  }
  const int64_t rows = all_logits ? tokens : 1;
  const Tensor last = x.as_strided({rows, hidden}, {hidden, 1}, (tokens - rows) * hidden), final_normed = buffer(rows, hidden);
  step->logits = buffer(rows, config.vocab_size);
  norm(last, model_.norm_, final_normed);
  product(model_.lm_head_, final_normed, step->logits, Then::Nothing);
  return step;
}

const LlamaPlan::Step& LlamaPlan::step_for(int64_t tokens, KVCache& cache, bool all_logits) {
  std::unique_ptr<Step>& step = steps_[{tokens, all_logits}];
  if (!step) {
    step = make_step(tokens, cache, all_logits);
    for (auto it = steps_.rbegin(); steps_.size() > kMostSteps && it != steps_.rend(); ++it)
      if (it->first.first != tokens) {  // long prompts take most memory
        steps_.erase(it->first);
        break;
      }
  }
  return *steps_[{tokens, all_logits}];
}

Tensor LlamaPlan::run(std::span<const int64_t> tokens, KVCache& cache, bool all_logits) {
  const Step& step = step_for(static_cast<int64_t>(tokens.size()), cache, all_logits);
  model_.embed(tokens, step.x.data_as<float>());
  position_ = cache.length;
  for (const auto& call : step.calls) call();
  return step.logits;
}

}  // namespace weft::models
