#include "models/delta_rule.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/ops.h"
#include "weft/parallel.h"

namespace weft::models {
namespace {

constexpr float kLeastSquares = 1e-6f;  // added to the squares of queries and keys

float unit_factor(const float* x, int64_t size) {
  float squares = 0;
  for (int64_t i = 0; i < size; ++i) squares += x[i] * x[i];
  return 1 / std::sqrt(squares + kLeastSquares);
}

float softplus_of(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

// One head's rows, one after the other.
class DeltaHead {
 public:
  DeltaHead(const DeltaRule& rule, const DecoderLayer& layer, double eps, int64_t head)
      : rule_(rule),
        head_(head),
        key_head_(head / (rule.value_heads / rule.key_heads)),
        decay_(layer.delta_decay.data_as<float>()[head]),
        step_bias_(layer.delta_step_bias.data_as<float>()[head]),
        norm_(layer.delta_norm.data_as<float>()),
        eps_(eps),
        change_(static_cast<size_t>(rule.value_dim)) {}

  void run(const DeltaRows& rows, int64_t row) {
    const int64_t keys = rule_.key_dim, values = rule_.value_dim;
    float* const state = rows.state(row) + head_ * keys * values;
    if (rows.is_first(row)) std::fill_n(state, keys * values, 0.0f);
    const float* const mixed = rows.mixed + row * rule_.channels();
    const float *const query = mixed + key_head_ * keys, *const key = mixed + rule_.keys() + key_head_ * keys,
                       *const value = mixed + 2 * rule_.keys() + head_ * values;
    const float* const rates = rows.rates + row * 2 * rule_.value_heads;
    const float beta = 1 / (1 + std::exp(-rates[head_]));
    const float kept = std::exp(decay_ * softplus_of(rates[rule_.value_heads + head_] + step_bias_));
    const float key_factor = unit_factor(key, keys),
                query_factor = unit_factor(query, keys) / std::sqrt(static_cast<float>(keys));
    std::fill_n(change_.data(), values, 0.0f);
    for (int64_t k = 0; k < keys; ++k) {
      const float factor = key[k] * key_factor;
      float* const of_key = state + k * values;
      for (int64_t v = 0; v < values; ++v) {
        of_key[v] *= kept;
        change_[static_cast<size_t>(v)] += of_key[v] * factor;
      }
    }
    for (int64_t v = 0; v < values; ++v) {
      float& change = change_[static_cast<size_t>(v)];
      change = (value[v] - change) * beta;
    }
    float* const out = rows.out + row * rule_.values() + head_ * values;
    std::fill_n(out, values, 0.0f);
    for (int64_t k = 0; k < keys; ++k) {
      const float factor = key[k] * key_factor, wanted = query[k] * query_factor;
      float* const of_key = state + k * values;
      for (int64_t v = 0; v < values; ++v) {
        of_key[v] += factor * change_[static_cast<size_t>(v)];
        out[v] += of_key[v] * wanted;
      }
    }
    finish(out, rows.gates + row * rows.gate_stride + head_ * values);
  }

 private:
  void finish(float* out, const float* gates) const {
    double squares = 0;
    for (int64_t v = 0; v < rule_.value_dim; ++v) squares += static_cast<double>(out[v]) * out[v];
    const auto factor =
        static_cast<float>(1 / std::sqrt(squares / static_cast<double>(rule_.value_dim) + eps_));
    for (int64_t v = 0; v < rule_.value_dim; ++v)
      out[v] *= factor * norm_[v] * gates[v] / (1 + std::exp(-gates[v]));
  }

  const DeltaRule& rule_;
  int64_t head_, key_head_;
  float decay_, step_bias_;
  const float* norm_;
  double eps_;
  std::vector<float> change_;
};

}  // namespace

void run_delta_rule(const DeltaRule& rule, const DecoderLayer& layer, double eps, const DeltaRows& rows) {
  parallel_for(0, rule.value_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number) {
      DeltaHead head(rule, layer, eps, number);
      for (int64_t row = 0; row < rows.count; ++row) head.run(rows, row);
    }
  });
}

Tensor delta_functions(const DeltaRule& rule, const DecoderLayer& layer, double eps, const Tensor& mixed,
                       const Tensor& rates, const Tensor& gates, Tensor& state, bool is_first) {
  const int64_t tokens = mixed.size(0), keys = rule.key_dim, values = rule.value_dim,
                heads = rule.value_heads, group = heads / rule.key_heads;
  // [tokens, value heads, key_dim] of length 1, a key head's for each of its value heads.
  const auto units = [&](int64_t first) {
    const Tensor rows = reshape(slice(mixed, 1, first, first + rule.keys()), {tokens, rule.key_heads, keys});
    const Tensor squares = sum(rows * rows, std::vector<int64_t>{2}, true);
    const Tensor unit = rows * rsqrt(squares + static_cast<double>(kLeastSquares));
    return reshape(expand(unsqueeze(unit, 2), {tokens, rule.key_heads, group, keys}), {tokens, heads, keys});
  };
  const Tensor query = units(0) * (1 / std::sqrt(static_cast<double>(keys))), key = units(rule.keys()),
               value = reshape(slice(mixed, 1, 2 * rule.keys(), rule.channels()), {tokens, heads, values}),
               beta = sigmoid(slice(rates, 1, 0, heads)),
               kept = exp(softplus(slice(rates, 1, heads, 2 * heads) + layer.delta_step_bias) *
                          layer.delta_decay);
  Tensor held = is_first ? Tensor::full({heads, keys, values}, 0.0, DType::F32, mixed.device()) : state;
  std::vector<Tensor> rows;
  for (int64_t t = 0; t < tokens; ++t) {
    const auto of_token = [&](const Tensor& all) { return select(all, 0, t); };
    held = held * reshape(of_token(kept), {heads, 1, 1});
    const Tensor column = reshape(of_token(key), {heads, keys, 1});
    const Tensor change =
        (of_token(value) - sum(held * column, std::vector<int64_t>{1})) * reshape(of_token(beta), {heads, 1});
    held = held + column * reshape(change, {heads, 1, values});
    rows.push_back(reshape(sum(held * reshape(of_token(query), {heads, keys, 1}), std::vector<int64_t>{1}),
                           {1, heads, values}));
  }
  state.copy_from(held);
  const Tensor normed = rms_norm(concatenate(rows, 0), {values}, layer.delta_norm, eps);
  return reshape(normed, {tokens, rule.values()}) * silu(gates);
}

}  // namespace weft::models
