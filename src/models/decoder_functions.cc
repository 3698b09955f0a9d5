#include "models/decoder_functions.h"

#include <cmath>

#include "core/memory_watch.h"
#include "kernels/cpu/cached_elements.h"
#include "models/delta_rule.h"
#include "models/expert_choice.h"
#include "models/text_cache.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

class TextFunctions : public FunctionCache {
 public:
  TextFunctions(const CausalModel& model, const TextPart& part, KVCache& cache, const TextCache* kernels)
      : part_(part), cache_(cache), kernels_(kernels), is_on_device_(model.options().device != Device()) {}

  Tensor attend(size_t layer, const Tensor& qkv) override {
    Tensor &keys = cache_.keys[layer], &values = cache_.values[layer];
    if (is_on_device_) return attend_on_device(part_, layer, qkv, keys, values);
    if (kernels_ == nullptr) return attend_plainly(part_, layer, qkv, keys, values);
    const int64_t dim = part_.config.head_dim;
    const Tensor output = Tensor::empty({qkv.size(0), qkv.size(1) - 2 * keys.size(0) * dim}, DType::F32);
    const WriteNote of_keys(*keys.storage()), of_values(*values.storage());
    kernels_->attend(layer, qkv, output);
    return output;
  }
  Tensor convolve(size_t layer, const Tensor& x) override {
    return convolve_plainly(part_, layer, x, cache_.keys[layer]);
  }
  std::pair<Tensor*, bool> state(size_t layer) override { return {&cache_.values[layer], part_.past == 0}; }

 private:
  TextPart part_;
  KVCache& cache_;
  const TextCache* kernels_;
  bool is_on_device_;
};

// What lies in the cache behind `past` positions, and those with it: [heads, past + tokens, numbers].
Tensor with_fresh(const TextPart& part, Tensor& kept, const Tensor& fresh) {
  const int64_t total = part.past + fresh.size(1);
  if (part.grows) {
    kept = part.past == 0 ? fresh.contiguous() : concatenate({slice(kept, 1, 0, part.past), fresh}, 1);
    return kept;
  }
  slice(kept, 1, part.past, total).copy_from(fresh);
  return slice(kept, 1, 0, total);
}

// x[heads, tokens, numbers] as the cache holds it, and back.
Tensor as_cached(const Tensor& x, DType dtype) {
  if (dtype != DType::I8) return x.to(dtype);
  const Tensor from = x.contiguous();
  const int64_t numbers = x.size(2), row = kernels::cached_row(dtype, numbers);
  const Tensor rows = Tensor::empty({x.size(0), x.size(1), row}, dtype);
  for (int64_t i = 0; i < x.size(0) * x.size(1); ++i)
    kernels::store_cached(dtype, from.data_as<float>() + i * numbers, numbers,
                          rows.data_as<int8_t>() + i * row);
  return rows;
}
Tensor from_cached(const Tensor& rows, int64_t numbers) {
  if (rows.dtype() != DType::I8) return rows.to(DType::F32);
  const Tensor from = rows.contiguous(), x = Tensor::empty({rows.size(0), rows.size(1), numbers}, DType::F32);
  for (int64_t i = 0; i < rows.size(0) * rows.size(1); ++i)
    kernels::load_cached(DType::I8, from.data_as<int8_t>() + i * rows.size(2), numbers,
                         x.data_as<float>() + i * numbers);
  return x;
}

// Turns the first elements of x[tokens, heads, head_dim]; [heads, tokens, head_dim].
Tensor rotated(const TextPart& part, size_t layer, const Tensor& x, int64_t total) {
  const LayerKind& kind = part.config.layer(static_cast<int64_t>(layer));
  if (!kind.rope) return transpose(x, 0, 1);
  const DecoderWeights::RopeTable& table = part.weights.ropes[*kind.rope];
  const bool is_long = table.of_long.defined() && std::max(part.text, total) > table.original_positions;
  const bool interleaved = part.config.ropes[*kind.rope].interleaved;
  const Tensor angles = slice(is_long ? table.of_long : table.of_short, 0, part.past, total);
  const Tensor cosine = unsqueeze(select(angles, 2, 0), 1), sine = unsqueeze(select(angles, 2, 1), 1);
  const int64_t tokens = x.size(0), heads = x.size(1), dim = table.dim, half = dim / 2;
  const Tensor turning = slice(x, 2, 0, dim);
  const Tensor pairs = interleaved ? reshape(turning, {tokens, heads, half, 2})
                                   : transpose(reshape(turning, {tokens, heads, 2, half}), 2, 3);
  const Tensor a = select(pairs, 3, 0), b = select(pairs, 3, 1);  // [tokens, heads, dim / 2]
  const Tensor joined = reshape(stack({a * cosine - b * sine, b * cosine + a * sine}, interleaved ? 3 : 2),
                                {tokens, heads, dim});
  if (dim == x.size(2)) return transpose(joined, 0, 1);
  return transpose(concatenate({joined, slice(x, 2, dim, x.size(2))}, 2), 0, 1);
}

// Those that the positions from `past` on see of [0, total): [tokens, total].
Tensor seen(const TextPart& part, size_t layer, int64_t total, Device device) {
  const LayerKind& kind = part.config.layer(static_cast<int64_t>(layer));
  const Tensor row = unsqueeze(arange(part.past, total), 1), column = arange(0, total);
  Tensor mask = row >= column;
  if (kind.window) mask = logical_and(mask, row - column < *kind.window);
  if (kind.chunk)
    mask = logical_and(mask, eq(floor_divide(row, *kind.chunk), floor_divide(column, *kind.chunk)));
  return mask.to(device);
}

// 1 + temperature * log(1 + floor((position + temperature_from) / temperature_positions)): [tokens, 1].
Tensor temperatures(const TextPart& part, int64_t total) {
  std::vector<float> factors;
  for (int64_t position = part.past; position < total; ++position) {
    const auto steps =
        static_cast<double>((position + part.config.temperature_from) / part.config.temperature_positions);
    factors.push_back(static_cast<float>(1 + part.config.temperature * std::log1p(steps)));
  }
  return unsqueeze(Tensor::of(factors), 1);
}

// What alibi adds to scores, [heads, tokens, total]; of keys that are not seen, anything.
Tensor slopes_by_distance(const TextPart& part, int64_t total, double scale) {
  const Alibi& alibi = *part.config.alibi;
  const Tensor slopes = reshape(part.weights.slopes, {part.weights.slopes.size(0), 1, 1});
  const Tensor keys = arange(0, total).to(slopes.device()),
               queries = unsqueeze(arange(part.past, total), 1).to(slopes.device());
  const double factor = alibi.is_scaled ? scale : 1.0;
  if (!alibi.is_rounded) return slopes * (keys - queries).to(DType::F32) * factor;
  const auto rounded = [](const Tensor& x) { return x.to(DType::BF16).to(DType::F32); };
  const auto product = [&](const Tensor& positions) {
    return rounded(slopes * rounded(positions.to(DType::F32)));
  };
  return (product(keys) - product(queries)) * factor;
}

}  // namespace

Tensor attend_plainly(const TextPart& part, size_t layer, const Tensor& qkv, Tensor& keys, Tensor& values) {
  const DecoderConfig& config = part.config;
  const LayerKind& kind = config.layer(static_cast<int64_t>(layer));
  const int64_t tokens = qkv.size(0), kv_heads = keys.size(0), dim = config.head_dim,
                heads = qkv.size(1) / dim - 2 * kv_heads, group = heads / kv_heads,
                total = part.past + tokens;
  const Tensor split = reshape(qkv, {tokens, heads + 2 * kv_heads, dim});
  const DType dtype = keys.dtype();
  const Device device = qkv.device();
  const DecoderLayer& weights_of_layer = part.weights.layers[layer];
  const auto turned = [&](int64_t first, int64_t last, const Tensor& weight) {
    const Tensor x = rotated(part, layer, slice(split, 1, first, last), total);
    return weight.defined() ? x * weight : x;
  };
  Tensor query = turned(0, heads, weights_of_layer.turned_query_weight);
  const auto cached = [&](Tensor& kept, const Tensor& fresh) {
    return from_cached(with_fresh(part, kept, as_cached(fresh, dtype)), dim);
  };
  const Tensor key = cached(keys, turned(heads, heads + kv_heads, weights_of_layer.turned_key_weight));
  const Tensor value =
      cached(values, transpose(slice(split, 1, heads + kv_heads, heads + 2 * kv_heads), 0, 1));
  if (kind.has_temperature) query = query * temperatures(part, total).to(device);
  const double scale =
      config.score_scale.value_or(1.0 / std::sqrt(static_cast<double>(dim))) * kind.score_factor;
  const Tensor grouped = reshape(query, {kv_heads, group * tokens, dim});
  Tensor scores = reshape(matmul(grouped, transpose(key, 1, 2)), {heads, tokens, total}) * scale;
  if (config.score_cap != 0) scores = tanh(scores / config.score_cap) * config.score_cap;
  if (config.alibi) scores = scores + slopes_by_distance(part, total, scale);
  scores = where(seen(part, layer, total, device), scores, -INFINITY);
  const Tensor& sinks = weights_of_layer.sinks;
  if (sinks.defined())
    scores = concatenate({scores, expand(reshape(sinks, {heads, 1, 1}), {heads, tokens, 1})}, 2);
  Tensor weights = softmax(scores, 2);
  if (sinks.defined()) weights = slice(weights, 2, 0, total);
  const Tensor attended =
      reshape(matmul(reshape(weights, {kv_heads, group * tokens, total}), value), {heads, tokens, dim});
  return reshape(transpose(attended, 0, 1), {tokens, heads * dim});
}

Tensor attend_on_device(const TextPart& part, size_t layer, const Tensor& qkv, Tensor& keys, Tensor& values) {
  const DecoderConfig& config = part.config;
  const LayerKind& kind = config.layer(static_cast<int64_t>(layer));
  const bool has_whole_heads = kind.rope && part.weights.ropes[*kind.rope].dim == config.head_dim &&
                               !part.weights.ropes[*kind.rope].of_long.defined();
  if (!has_whole_heads || kind.chunk || kind.has_temperature || config.score_cap != 0 || config.has_sinks ||
      config.alibi || config.head_norm_follows_rope)
    return attend_plainly(part, layer, qkv, keys, values);
  std::optional<double> scale = config.score_scale;
  if (kind.score_factor != 1)
    scale = scale.value_or(1 / std::sqrt(static_cast<double>(config.head_dim))) * kind.score_factor;
  const Tensor position = Tensor::scalar(part.past, DType::I64).to(qkv.device());
  return attention_with_kv_cache(qkv, keys, values, position, part.weights.ropes[*kind.rope].of_short, scale,
                                 kind.window, config.ropes[*kind.rope].interleaved);
}

Tensor convolve_plainly(const TextPart& part, size_t layer, const Tensor& x, Tensor& keys) {
  const DecoderLayer& weights = part.weights.layers[layer];
  const int64_t size = part.config.convolution_size, tokens = x.size(0), hidden = x.size(1);
  const Tensor all = with_fresh(part, keys, unsqueeze(x, 0).to(keys.dtype()));  // [1, total, hidden]
  const int64_t held = std::min(size - 1, part.past);
  Tensor given =
      reshape(slice(all, 1, part.past - held, part.past + tokens), {held + tokens, hidden}).to(DType::F32);
  if (held < size - 1)
    given = concatenate({Tensor::full({size - 1 - held, hidden}, 0.0, DType::F32, x.device()), given}, 0);
  Tensor sum = weights.convolution_bias.defined()
                   ? expand(unsqueeze(weights.convolution_bias, 0), {tokens, hidden})
                   : Tensor::full({tokens, hidden}, 0.0, DType::F32, x.device());
  for (int64_t tap = 0; tap < size; ++tap)
    sum = sum + slice(given, 0, tap, tap + tokens) * select(weights.convolution, 0, tap);
  return sum;
}

namespace {

Tensor mlp_functions(const Mlp& mlp, const Tensor& x, InputPrecision precision,
                     const std::function<void(const char*, const Tensor&)>& tell) {
  tell("gate_up", x);
  const LinearEpilogue epilogue{.activation = mlp.fused.value_or(LinearActivation::None),
                                .precision = precision};
  const Tensor gated = activate(mlp, mlp.in(x, epilogue));  // [tokens, intermediate]
  tell("down", gated);
  return gated;
}

Tensor expert_functions(const ExpertLayer& layer, const Experts& experts, const Tensor& x,
                        InputPrecision precision) {
  const LinearEpilogue plain{.precision = precision};
  const auto run = [&](const Mlp& mlp, const Tensor& rows) {
    return mlp.down(mlp_functions(mlp, rows, precision, [](const char*, const Tensor&) {}), plain);
  };
  const Tensor logits = layer.router(x, plain).to(Device()).contiguous();
  ExpertRows rows;
  rows.choose(experts, logits.data_as<float>(),
              layer.correction.defined() ? layer.correction.data_as<float>() : nullptr, x.size(0));
  Tensor sum = Tensor::full(x.shape(), 0.0, DType::F32, x.device());
  for (int64_t expert = 0; expert < experts.count; ++expert) {
    if (rows.of(expert).empty()) continue;
    std::vector<int64_t> numbers;
    std::vector<float> weights;
    for (const auto& [row, weight] : rows.of(expert)) numbers.push_back(row), weights.push_back(weight);
    const Tensor index = Tensor::of(numbers).to(x.device()),
                 factors = unsqueeze(Tensor::of(weights), 1).to(x.device());
    Tensor chosen = index_select(x, 0, index);
    if (experts.scales_input) chosen = chosen * factors;
    Tensor result = run(layer.experts[static_cast<size_t>(expert)], chosen);
    if (!experts.scales_input) result = result * factors;
    sum = index_add(sum, 0, index, result);
  }
  if (!layer.shared) return sum;
  const Tensor shared = run(*layer.shared, x);
  return sum + (layer.shared_scale ? shared * sigmoid(layer.shared_scale(x, plain)) : shared);
}

// [tokens, 3 heads head_dim] of latent attention: see DecoderStep::latent_rows.
Tensor latent_functions(const DecoderLayer& layer, const DecoderConfig& config, const Tensor& x,
                        const LinearEpilogue& plain) {
  const LatentAttention& latent = *config.latent;
  const int64_t tokens = x.size(0), dim = config.head_dim, part = latent.plain_dim, value = latent.value_dim;
  const Tensor low = layer.latent_query_in ? layer.latent_query_norm(layer.latent_query_in(x, plain)) : x;
  const Tensor flat = layer.latent_query_out(low, plain);
  const int64_t heads = flat.size(1) / dim;
  const Tensor queries = reshape(flat, {tokens, heads, dim});
  const Tensor row = layer.latent_in(x, plain);
  const Tensor normed = layer.latent_norm(slice(row, 1, 0, latent.rank).contiguous());
  const Tensor pairs = reshape(layer.latent_out(normed, plain), {tokens, heads, part + value});
  const Tensor turning =
      expand(reshape(slice(row, 1, latent.rank, row.size(1)), {tokens, 1, latent.rope_dim}),
             {tokens, heads, latent.rope_dim});
  const Tensor query = concatenate({slice(queries, 2, part, dim), slice(queries, 2, 0, part)}, 2),
               key = concatenate({turning, slice(pairs, 2, 0, part)}, 2),
               zeros = Tensor::full({tokens, heads, dim - value}, 0.0, DType::F32, x.device()),
               values = concatenate({slice(pairs, 2, part, part + value), zeros}, 2);
  return reshape(concatenate({query, key, values}, 1), {tokens, 3 * heads * dim});
}

}  // namespace

Tensor CausalModel::embed_functions(std::span<const int64_t> tokens,
                                    std::span<const int64_t> positions) const {
  const auto count = static_cast<int64_t>(tokens.size());
  if (options_.device == Device()) {
    Tensor x = Tensor::empty({count, config_.hidden_size}, DType::F32);
    embed(
        tokens, [&](int64_t row) { return positions[static_cast<size_t>(row)]; }, x.data_as<float>());
    return weights_->embedding_norm ? weights_->embedding_norm(x) : x;
  }
  const auto rows = [&](const Tensor& table, std::span<const int64_t> numbers) {
    return embedding(Tensor::of<int64_t>({numbers.begin(), numbers.end()}).to(options_.device), table)
        .to(DType::F32);
  };
  Tensor x = rows(weights_->embedding.rows, tokens);
  if (config_.embedding_scale != 1) x = x * config_.embedding_scale;
  if (weights_->positions.defined()) {
    std::vector<int64_t> numbers(positions.begin(), positions.end());
    for (int64_t& number : numbers) number += config_.position_offset;
    x = x + rows(weights_->positions.rows, numbers);
  }
  return weights_->embedding_norm ? weights_->embedding_norm(x) : x;
}

Tensor CausalModel::run_layer(size_t index, const Tensor& x, FunctionCache& cache,
                              const Observer& observe) const {
  const DecoderLayer& layer = weights_->layers[index];
  const LinearEpilogue plain{.precision = precision_};
  const auto tell = [&](const char* products, const Tensor& input) {
    if (observe) observe(products, input);
  };
  const auto sum = [&](const Tensor& sums) { sum_over_ranks(sums); };
  // to + scale * norm(from W'), summed over the ranks.
  const auto add_branch = [&](const Tensor& to, const Tensor& branch, const Norm& norm) {
    const Tensor normed = norm ? norm(branch) : branch;
    return to + (config_.residual_scale == 1 ? normed : normed * config_.residual_scale);
  };
  const auto add_product = [&](const Tensor& to, const Product& product, const Tensor& from,
                               const Norm& norm) {
    if (!norm && config_.residual_scale == 1) {
      const Tensor added = product(from, {.residual = residual(to), .precision = precision_});
      sum_over_ranks(added);
      return added;
    }
    const Tensor branch = product(from, plain);
    sum_over_ranks(branch);
    return add_branch(to, branch, norm);
  };
  const Tensor input = layer.attention_norm ? layer.attention_norm(x) : x;
  tell("qkv", input);
  Tensor mixed;  // [tokens, heads value_dim]
  if (layer.kind.is_convolution) {
    const int64_t hidden = config_.hidden_size;
    const Tensor parts = layer.convolution_in(input, plain);
    mixed = cache.convolve(index, slice(parts, 1, 0, hidden) * slice(parts, 1, 2 * hidden, 3 * hidden)) *
            slice(parts, 1, hidden, 2 * hidden);
  } else if (layer.kind.is_delta) {
    const DeltaRule& rule = *config_.delta;
    const Tensor parts = layer.delta_in(input, plain), rates = layer.delta_rates(input, plain);
    const auto [state, is_first] = cache.state(index);
    mixed = delta_functions(
        rule, layer, config_.norm_eps, silu(cache.convolve(index, slice(parts, 1, 0, rule.channels()))),
        rates, slice(parts, 1, rule.channels(), rule.channels() + rule.values()), *state, is_first);
  } else {
    Tensor qkv = config_.latent ? latent_functions(layer, config_, input, plain) : layer.qkv(input, plain);
    if (layer.query_norm) {
      const int64_t tokens = x.size(0), dim = config_.head_dim, heads = layer.query_norm.heads,
                    kv_heads = layer.key_norm.heads;
      const Tensor split = reshape(qkv, {tokens, heads + 2 * kv_heads, dim});
      qkv = reshape(concatenate({layer.query_norm(slice(split, 1, 0, heads), sum),
                                 layer.key_norm(slice(split, 1, heads, heads + kv_heads), sum),
                                 slice(split, 1, heads + kv_heads, heads + 2 * kv_heads)},
                                1),
                    qkv.shape());
    }
    if (config_.clip_qkv != 0) qkv = minimum(maximum(qkv, -config_.clip_qkv), config_.clip_qkv);
    mixed = cache.attend(index, qkv);
    if (config_.latent) {
      const int64_t tokens = x.size(0), heads = mixed.size(1) / config_.head_dim;
      mixed = reshape(slice(reshape(mixed, {tokens, heads, config_.head_dim}), 2, 0, config_.value_dim()),
                      {tokens, heads * config_.value_dim()});
    }
  }
  if (layer.attention_gate) mixed = mixed * sigmoid(layer.attention_gate(input, plain));
  // What is parallel has its input from before attention's output is added.
  Tensor between = config_.is_parallel ? (layer.mlp_norm ? layer.mlp_norm(x) : input) : Tensor();
  tell("output", mixed);
  const Tensor added = add_product(x, layer.output, mixed, layer.attention_post_norm);
  if (!config_.is_parallel) between = layer.mlp_norm ? layer.mlp_norm(added) : added;
  if (layer.experts) {
    const Tensor branch = expert_functions(*layer.experts, *config_.experts, between, precision_);
    sum_over_ranks(branch);
    return add_branch(added, branch, layer.mlp_post_norm);
  }
  return add_product(added, layer.mlp.down, mlp_functions(layer.mlp, between, precision_, tell),
                     layer.mlp_post_norm);
}

Tensor CausalModel::logits_functions(const Tensor& x) const {
  Tensor own = weights_->head(weights_->norm(x), {.precision = precision_}).to(Device());  // [tokens, vocab]
  if (share_->size > 1) {
    const int64_t rows = own.size(0), block = share_->vocab_block;
    const Tensor padded = Tensor::full({rows, block}, 0.0, DType::F32),
                 others = Tensor::empty({share_->size, rows, block}, DType::F32),
                 logits = Tensor::empty({rows, config_.vocab_size}, DType::F32);
    slice(padded, 1, 0, share_->vocab).copy_from(own);
    gather_logits(padded, others, logits);
    own = logits;
  }
  finish_logits(own);
  return own;
}

Tensor CausalModel::run_alone(const Tensor& x, KVCache& cache, const Observer& observe) const {
  const TextCache kernels(*this, cache.keys, cache.values, 0, x.size(0), x.size(0));
  TextFunctions layers(*this, {config_, *weights_, 0, x.size(0), false}, cache, &kernels);
  return run_layer(0, x, layers, observe);
}

Tensor CausalModel::forward_functions(std::span<const int64_t> tokens, KVCache& cache, bool all_logits,
                                      Execution execution) const {
  const auto count = static_cast<int64_t>(tokens.size());
  std::vector<int64_t> positions(tokens.size());
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = cache.length + static_cast<int64_t>(i);
  const bool is_here = options_.device == Device();
  const int64_t text = std::max(cache.text, cache.length + count);
  const TextCache kernels(*this, cache.keys, cache.values, cache.length, count, text);
  TextFunctions layers(*this,
                       {config_, *weights_, cache.length, text, is_here && execution == Execution::Eager},
                       cache, is_here && execution != Execution::Eager ? &kernels : nullptr);
  Tensor x = embed_functions(tokens, positions);
  for (size_t i = 0; i < weights_->layers.size(); ++i) x = run_layer(i, x, layers);
  return logits_functions(all_logits ? x : slice(x, 0, count - 1, count));
}

}  // namespace weft::models
