#include "models/llama_plan.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/cached_attention.h"
#include "kernels/cpu/norm.h"

namespace weft::models {
namespace {

constexpr size_t kMostSteps = 4;  // numbers of tokens whose lists are kept

}  // namespace

struct LlamaPlan::Step {
  int64_t tokens;
  bool all_logits;
  Tensor x, logits;
  std::vector<std::function<void()>> calls;
};

LlamaPlan::LlamaPlan(std::weak_ptr<const Llama> model, const KVCache& cache)
    : model_(std::move(model)), keys_(cache.keys), values_(cache.values), capacity_(cache.capacity) {}
LlamaPlan::~LlamaPlan() = default;

bool LlamaPlan::fits(const Llama& model, const KVCache& cache) const {
  // A model that is gone may have left its address to another.
  if (model_.lock().get() != &model || cache.capacity != capacity_) return false;
  const auto is_same = [](const Tensor& a, const Tensor& b) {
    return a.impl() == b.impl() || (a.data() == b.data() && a.dtype() == b.dtype());
  };
  return std::equal(keys_.begin(), keys_.end(), cache.keys.begin(), cache.keys.end(), is_same) &&
         std::equal(values_.begin(), values_.end(), cache.values.begin(), cache.values.end(), is_same);
}

std::unique_ptr<LlamaPlan::Step> LlamaPlan::make_step(const Llama& model, int64_t tokens, bool all_logits) {
  const LlamaConfig& config = model.config_;
  const auto buffer = [&](int64_t rows, int64_t columns) {
    return Tensor::empty({rows, columns}, DType::F32);
  };
  const Llama::Share& share = model.share_;
  const int64_t hidden = config.hidden_size, heads = share.heads * config.head_dim;
  auto step = std::make_unique<Step>(
      Step{.tokens = tokens, .all_logits = all_logits, .x = {}, .logits = {}, .calls = {}});
  auto& calls = step->calls;
  const Tensor x = step->x = buffer(tokens, hidden), normed = buffer(tokens, hidden),
               attended = buffer(tokens, heads);
  const Tensor qkv = buffer(tokens, heads + 2 * share.kv_heads * config.head_dim),
               gated = buffer(tokens, share.intermediate);
  const auto norm = [&](const Tensor& from, const Tensor& weight, const Tensor& to) {
    calls.push_back([=, eps = config.rms_norm_eps, hidden = hidden] {
      kernels::normalize_rows(from, hidden, false, eps, weight, Tensor(), to);
    });
  };
  enum class Then { Nothing, Add, Gate };
  const auto product = [&](const PackedLinear& weights, const Tensor& from, const Tensor& to, Then then) {
    const LinearActivation activation = then == Then::Gate ? LinearActivation::Silu : LinearActivation::None;
    calls.push_back([=, &weights, &model, precision = model.precision_] {
      weights.forward(from, to,
                      {.activation = activation,
                       .residual = then == Then::Add ? model.residual(to) : nullptr,
                       .precision = precision});
    });
    if (then == Then::Add && share.size > 1) calls.push_back([&model, to] { model.sum_over_ranks(to); });
  };
  for (size_t i = 0; i < model.layers_.size(); ++i) {
    const Llama::Layer& layer = model.layers_[i];
    norm(x, layer.attention_norm, normed);
    product(layer.qkv, normed, qkv, Then::Nothing);
    calls.push_back(
        [this, attention = model.cached_attention(i, qkv, keys_[i], values_[i], attended)]() mutable {
          attention.position = position_;
          kernels::attention_with_kv_cache(attention);
        });
    product(layer.output, attended, x, Then::Add);
    norm(x, layer.mlp_norm, normed);
    product(layer.gate_up, normed, gated, Then::Gate);
    product(layer.down, gated, x, Then::Add);
  }
  const int64_t rows = all_logits ? tokens : 1;
  const Tensor last = x.as_strided({rows, hidden}, {hidden, 1}, (tokens - rows) * hidden),
               final_normed = buffer(rows, hidden);
  norm(last, model.norm_, final_normed);
  if (share.size == 1) {
    step->logits = buffer(rows, config.vocab_size);
    product(model.lm_head_, final_normed, step->logits, Then::Nothing);
    return step;
  }
  const int64_t block = share.vocab_block;
  const Tensor own = Tensor::full({rows, block}, 0.0, DType::F32),
               others = Tensor::empty({share.size, rows, block}, DType::F32);
  // Of one row, the ranks' parts lie one behind the other.
  const Tensor logits = step->logits =
      rows == 1 ? others.as_strided({1, config.vocab_size}, {config.vocab_size, 1}, 0)
                : buffer(rows, config.vocab_size);
  product(model.lm_head_, final_normed, own.as_strided({rows, share.vocab}, {block, 1}, 0), Then::Nothing);
  calls.push_back([=, &model] { model.gather_logits(own, others, logits); });
  return step;
}

const LlamaPlan::Step& LlamaPlan::step_for(const Llama& model, int64_t tokens, bool all_logits) {
  auto found = std::find_if(steps_.begin(), steps_.end(), [&](const auto& step) {
    return step->tokens == tokens && step->all_logits == all_logits;
  });
  if (found == steps_.end()) {
    if (steps_.size() == kMostSteps) steps_.erase(steps_.begin());
    steps_.push_back(make_step(model, tokens, all_logits));
  } else {
    std::rotate(found, found + 1, steps_.end());
  }
  return *steps_.back();
}

Tensor LlamaPlan::run(const Llama& model, std::span<const int64_t> tokens, int64_t position,
                      bool all_logits) {
  const Step& step = step_for(model, static_cast<int64_t>(tokens.size()), all_logits);
  model.embed(tokens, step.x.data_as<float>());
  position_ = position;
  for (const auto& call : step.calls) call();
  return step.logits;
}

}  // namespace weft::models
