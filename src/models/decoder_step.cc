#include "models/decoder_step.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/cached_elements.h"
#include "models/delta_rule.h"
#include "weft/parallel.h"

namespace weft::models {
namespace {

// The first numbers of a buffer in this shape.
Tensor shaped(const Tensor& buffer, int64_t rows, int64_t columns) {
  if (buffer.size(0) == rows && buffer.size(1) == columns) return buffer;
  return buffer.as_strided({rows, columns}, {columns, 1}, 0);
}

}  // namespace

DecoderStep::DecoderStep(const CausalModel& model, InputPrecision precision, int64_t most_rows,
                         int64_t most_logits, bool rows_are_independent)
    : model_(model), weights_(*model.weights_), precision_(precision), is_independent_(rows_are_independent) {
  const DecoderConfig& config = model.config_;
  const Share& share = *model.share_;
  const auto buffer = [&](int64_t columns) { return Tensor::empty({most_rows, columns}, DType::F32); };
  const int64_t hidden = config.hidden_size, dim = config.head_dim, heads = share.heads * dim;
  x_ = buffer(hidden), normed_ = buffer(hidden), branch_ = buffer(hidden);
  attended_ = buffer(heads), qkv_ = buffer(heads + 2 * share.kv_heads * dim);
  int64_t gated = 0, wide = 0;
  const auto fit = [&](const Mlp& mlp) {
    gated = std::max(gated, mlp.size);
    if (!mlp.fused) wide = std::max(wide, mlp.width());
  };
  bool has_convolutions = false;
  for (const DecoderLayer& layer : weights_.layers) {
    has_convolutions = has_convolutions || layer.kind.is_convolution;
    if (!layer.experts) {
      fit(layer.mlp);
      continue;
    }
    for (const Mlp& mlp : layer.experts->experts) fit(mlp);
    if (layer.experts->shared) fit(*layer.experts->shared);
  }
  gated_ = buffer(gated);
  if (wide > 0) wide_ = buffer(wide);
  if (config.experts) {
    router_ = buffer(config.experts->count), shared_scale_ = buffer(1);
    expert_in_ = buffer(hidden), expert_out_ = buffer(hidden);
  }
  if (config.head_norm == HeadNorm::Whole) sums_ = buffer(1);
  if (has_convolutions) convolution_in_ = buffer(3 * hidden), values_ = buffer(hidden);
  if (config.has_states()) {
    const DeltaRule& rule = *config.delta;
    delta_in_ = buffer(rule.channels() + rule.values()), delta_mixed_ = buffer(rule.channels());
    delta_rates_ = buffer(2 * rule.value_heads), delta_out_ = buffer(rule.values());
  }
  if (config.gates_attention) gates_ = buffer(heads);
  if (config.latent) {
    const LatentAttention& latent = *config.latent;
    if (latent.query_rank > 0)
      latent_query_ = buffer(latent.query_rank), latent_query_normed_ = buffer(latent.query_rank);
    queries_ = buffer(heads), latent_ = buffer(latent.rank + latent.rope_dim);
    latent_normed_ = buffer(latent.rank), values_ = buffer(share.heads * latent.value_dim);
    heads_ = buffer(share.heads * (latent.plain_dim + latent.value_dim));
  }
  wanted_ = Tensor::empty({most_logits, hidden}, DType::F32);
  wanted_normed_ = Tensor::empty({most_logits, hidden}, DType::F32);
  if (share.size == 1) {
    logits_ = Tensor::empty({most_logits, config.vocab_size}, DType::F32);
    return;
  }
  own_ = Tensor::full({most_logits, share.vocab_block}, 0.0, DType::F32);
  own_vocab_ = own_.as_strided({most_logits, share.vocab}, {share.vocab_block, 1}, 0);
  others_ = Tensor::empty({share.size, most_logits, share.vocab_block}, DType::F32);
  // Of one row, the ranks' parts lie one behind the other.
  logits_ = most_logits == 1 ? others_.as_strided({1, config.vocab_size}, {config.vocab_size, 1}, 0)
                             : Tensor::empty({most_logits, config.vocab_size}, DType::F32);
}

Tensor DecoderStep::view(const Tensor& buffer) const { return shaped(buffer, rows_, buffer.size(1)); }

// out = activation(x W') + residual; as many rows at a time as do not depend on each other.
void DecoderStep::multiply(const PackedLinear& weights, const Tensor& x, const Tensor& out,
                           LinearActivation activation, const Tensor* residual) const {
  const int64_t rows = x.size(0),
                most = is_independent_ ? weights.independent_rows(precision_, x.dtype()) : rows;
  if (rows <= most) {
    weights.forward(x, out, {.activation = activation, .residual = residual, .precision = precision_});
    return;
  }
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t count = std::min(most, rows - first);
    const auto part = [&](const Tensor& all) {
      return all.as_strided({count, all.size(1)}, {all.size(1), 1}, first * all.size(1));
    };
    const Tensor to = part(out), added = residual == nullptr ? Tensor() : part(*residual);
    weights.forward(part(x), to,
                    {.activation = activation,
                     .residual = residual == nullptr ? nullptr : &added,
                     .precision = precision_});
  }
}

void DecoderStep::run(std::span<const int64_t> tokens, const StepCache& cache) {
  rows_ = static_cast<int64_t>(tokens.size());
  model_.embed(
      tokens, [&](int64_t row) { return cache.position(row); }, x_.data_as<float>());
  if (weights_.embedding_norm) weights_.embedding_norm.run(view(x_), view(x_));
  for (size_t layer = 0; layer < weights_.layers.size(); ++layer) run_layer(layer, cache);
}

void DecoderStep::run_layer(size_t index, const StepCache& cache) {
  const DecoderLayer& layer = weights_.layers[index];
  const Tensor x = view(x_), normed = view(normed_);
  if (layer.attention_norm) layer.attention_norm.run(x, normed);
  const Tensor& input = layer.attention_norm ? normed : x;
  if (layer.kind.is_convolution)
    convolution(index, input, cache);
  else if (layer.kind.is_delta)
    delta(index, input, cache);
  else
    attention(index, input, cache);
  // What is parallel has its input from before attention's output is added.
  const bool is_parallel = model_.config_.is_parallel;
  if (is_parallel && layer.mlp_norm) layer.mlp_norm.run(x, normed);
  const bool has_values = layer.kind.is_convolution || model_.config_.latent;
  const Tensor& mixed = layer.kind.is_delta ? delta_out_ : has_values ? values_ : attended_;
  add_product(layer.output, view(mixed), layer.attention_post_norm);
  if (!is_parallel && layer.mlp_norm) layer.mlp_norm.run(x, normed);
  const Tensor& between_input = layer.mlp_norm || is_parallel ? normed : x;
  if (layer.experts) {
    experts(*layer.experts, between_input, view(branch_));
    model_.sum_over_ranks(view(branch_));
    return add_branch(layer.mlp_post_norm);
  }
  const Tensor gated = shaped(gated_, rows_, layer.mlp.size);
  between(layer.mlp, between_input, gated, wide_);
  add_product(layer.mlp.down, gated, layer.mlp_post_norm);
}

void DecoderStep::attention(size_t index, const Tensor& input, const StepCache& cache) {
  const DecoderLayer& layer = weights_.layers[index];
  const Tensor qkv = view(qkv_), attended = view(attended_);
  if (model_.config_.latent)
    latent_rows(layer, input, qkv);
  else
    multiply(layer.qkv, input, qkv);
  if (layer.query_norm) {
    const auto sum = [&](const Tensor& sums) { model_.sum_over_ranks(sums); };
    const Tensor sums = sums_.defined() ? view(sums_) : Tensor();
    float* const queries = qkv.data_as<float>();
    layer.query_norm.run(queries, rows_, qkv.size(1), sums, sum);
    layer.key_norm.run(queries + layer.query_norm.heads * layer.query_norm.dim, rows_, qkv.size(1), sums,
                       sum);
  }
  if (const auto most = static_cast<float>(model_.config_.clip_qkv); most != 0) {
    float* const values = qkv.data_as<float>();
    for (int64_t i = 0; i < qkv.numel(); ++i) values[i] = std::clamp(values[i], -most, most);
  }
  cache.attend(index, qkv, attended);
  if (model_.config_.latent) values_of_heads(attended, view(values_));
  if (!layer.attention_gate) return;
  const Tensor gates = view(gates_);
  multiply(layer.attention_gate, input, gates);
  float* const heads = attended.data_as<float>();
  for (int64_t i = 0; i < attended.numel(); ++i) heads[i] /= 1.0f + std::exp(-gates.data_as<float>()[i]);
}

void DecoderStep::delta(size_t index, const Tensor& input, const StepCache& cache) {
  const DecoderLayer& layer = weights_.layers[index];
  const DeltaRule& rule = *model_.config_.delta;
  const Tensor parts = view(delta_in_), mixed = view(delta_mixed_), rates = view(delta_rates_);
  multiply(layer.delta_in, input, parts);
  multiply(layer.delta_rates, input, rates);
  convolve(index, parts, mixed, cache);
  float* const values = mixed.data_as<float>();
  parallel_for(0, mixed.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] /= 1.0f + std::exp(-values[i]);
  });
  run_delta_rule(rule, layer, model_.config_.norm_eps,
                 {.count = rows_,
                  .mixed = values,
                  .rates = rates.data_as<float>(),
                  .gates = parts.data_as<float>() + rule.channels(),
                  .gate_stride = parts.size(1),
                  .out = view(delta_out_).data_as<float>(),
                  .state = [&](int64_t row) { return cache.state(index, row); },
                  .is_first = [&](int64_t row) { return cache.position(row) == 0; }});
}

// Queries, keys and values of all heads, each key and query with what turns first, values filled up by zeros.
void DecoderStep::latent_rows(const DecoderLayer& layer, const Tensor& input, const Tensor& qkv) {
  const LatentAttention& latent = *model_.config_.latent;
  const int64_t heads = model_.share_->heads, dim = model_.config_.head_dim, plain = latent.plain_dim,
                rope = latent.rope_dim, value = latent.value_dim;
  const Tensor queries = view(queries_), row = view(latent_), normed = view(latent_normed_),
               pairs = view(heads_);
  if (layer.latent_query_in) {
    const Tensor low = view(latent_query_), low_normed = view(latent_query_normed_);
    multiply(layer.latent_query_in, input, low);
    layer.latent_query_norm.run(low, low_normed);
    multiply(layer.latent_query_out, low_normed, queries);
  } else {
    multiply(layer.latent_query_out, input, queries);
  }
  multiply(layer.latent_in, input, row);
  for (int64_t i = 0; i < rows_; ++i)
    std::copy_n(row.data_as<float>() + i * (latent.rank + rope), latent.rank,
                normed.data_as<float>() + i * latent.rank);
  layer.latent_norm.run(normed, normed);
  multiply(layer.latent_out, normed, pairs);
  parallel_for(0, rows_ * heads, 16, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t i = item / heads, head = item % heads;
      const float *query = queries.data_as<float>() + item * dim,
                  *pair = pairs.data_as<float>() + item * (plain + value),
                  *turning = row.data_as<float>() + i * (latent.rank + rope) + latent.rank;
      float* const to = qkv.data_as<float>() + i * 3 * heads * dim + head * dim;
      std::copy_n(query + plain, rope, to);
      std::copy_n(query, plain, to + rope);
      std::copy_n(turning, rope, to + heads * dim);
      std::copy_n(pair, plain, to + heads * dim + rope);
      std::copy_n(pair + plain, value, to + 2 * heads * dim);
      std::fill_n(to + 2 * heads * dim + value, dim - value, 0.0f);
    }
  });
}

void DecoderStep::values_of_heads(const Tensor& attended, const Tensor& values) const {
  const int64_t dim = model_.config_.head_dim, value = model_.config_.value_dim();
  for (int64_t i = 0; i < rows_ * model_.share_->heads; ++i)
    std::copy_n(attended.data_as<float>() + i * dim, value, values.data_as<float>() + i * value);
}

// source: Lfm2ShortConv of transformers: in three parts b, c and x, c * convolved(b * x).
void DecoderStep::convolution(size_t index, const Tensor& input, const StepCache& cache) {
  const DecoderLayer& layer = weights_.layers[index];
  const int64_t hidden = model_.config_.hidden_size;
  const Tensor parts = view(convolution_in_), out = view(values_);
  multiply(layer.convolution_in, input, parts);
  for (int64_t row = 0; row < rows_; ++row) {
    float* const part = parts.data_as<float>() + row * 3 * hidden;
    for (int64_t i = 0; i < hidden; ++i) part[i] *= part[2 * hidden + i];
  }
  convolve(index, parts, out, cache);
  for (int64_t row = 0; row < rows_; ++row) {
    float* const to = out.data_as<float>() + row * hidden;
    const float* const factor = parts.data_as<float>() + row * 3 * hidden + hidden;
    for (int64_t i = 0; i < hidden; ++i) to[i] *= factor[i];
  }
}

void DecoderStep::convolve(size_t index, const Tensor& parts, const Tensor& out,
                           const StepCache& cache) const {
  const DecoderLayer& layer = weights_.layers[index];
  const int64_t width = out.size(1), size = model_.config_.convolution_size;
  for (int64_t row = 0; row < rows_; ++row)
    kernels::store_cached(cache.dtype(), parts.data_as<float>() + row * parts.size(1), width,
                          cache.convolved(index, row, cache.position(row)));
  const float* const bias =
      layer.convolution_bias.defined() ? layer.convolution_bias.data_as<float>() : nullptr;
  for (int64_t row = 0; row < rows_; ++row) {
    float* const to = out.data_as<float>() + row * width;
    for (int64_t i = 0; i < width; ++i) to[i] = bias == nullptr ? 0.0f : bias[i];
    for (int64_t tap = 0; tap < size; ++tap) {
      const int64_t position = cache.position(row) - (size - 1) + tap;
      if (position < 0) continue;
      const float* const weight = layer.convolution.data_as<float>() + tap * width;
      kernels::visit_cached(cache.dtype(), [&]<class T>(T*) {
        const T* const given = static_cast<const T*>(cache.convolved(index, row, position));
        for (int64_t i = 0; i < width; ++i) to[i] += weight[i] * static_cast<float>(given[i]);
      });
    }
  }
}

void DecoderStep::between(const Mlp& mlp, const Tensor& input, const Tensor& out,
                          const Tensor& memory) const {
  if (mlp.fused) return multiply(mlp.in.packed(), input, out, *mlp.fused, nullptr);
  const Tensor wide = shaped(memory, input.size(0), mlp.width());
  multiply(mlp.in, input, wide);
  activate(mlp, wide, out);
}

void DecoderStep::experts(const ExpertLayer& layer, const Tensor& input, const Tensor& out) {
  const Experts& experts = *model_.config_.experts;
  const int64_t hidden = model_.config_.hidden_size;
  const Tensor logits = view(router_);
  multiply(layer.router, input, logits);
  expert_rows_.choose(experts, logits.data_as<float>(),
                      layer.correction.defined() ? layer.correction.data_as<float>() : nullptr, rows_);
  float* const sum = out.data_as<float>();
  std::fill_n(sum, rows_ * hidden, 0.0f);
  const auto run_mlp = [&](const Mlp& mlp, const Tensor& x, int64_t rows) {
    const Tensor gated = shaped(gated_, rows, mlp.size), result = shaped(expert_out_, rows, hidden);
    between(mlp, x, gated, wide_);
    multiply(mlp.down, gated, result);
    return result.data_as<float>();
  };
  for (int64_t expert = 0; expert < experts.count; ++expert) {
    const std::vector<ExpertRows::Row>& chosen = expert_rows_.of(expert);
    if (chosen.empty()) continue;
    const auto count = static_cast<int64_t>(chosen.size());
    const Tensor x = shaped(expert_in_, count, hidden);
    for (int64_t i = 0; i < count; ++i) {
      const auto [row, weight] = chosen[static_cast<size_t>(i)];
      const float* const from = input.data_as<float>() + row * hidden;
      float* const to = x.data_as<float>() + i * hidden;
      const float factor = experts.scales_input ? weight : 1.0f;
      for (int64_t d = 0; d < hidden; ++d) to[d] = from[d] * factor;
    }
    const float* const result = run_mlp(layer.experts[static_cast<size_t>(expert)], x, count);
    for (int64_t i = 0; i < count; ++i) {
      const auto [row, weight] = chosen[static_cast<size_t>(i)];
      const float factor = experts.scales_input ? 1.0f : weight;
      for (int64_t d = 0; d < hidden; ++d) sum[row * hidden + d] += factor * result[i * hidden + d];
    }
  }
  if (!layer.shared) return;
  const float* const result = run_mlp(*layer.shared, input, rows_);
  const Tensor scales = view(shared_scale_);
  if (layer.shared_scale) multiply(layer.shared_scale, input, scales);
  for (int64_t row = 0; row < rows_; ++row) {
    const float factor = layer.shared_scale ? 1.0f / (1.0f + std::exp(-scales.data_as<float>()[row])) : 1.0f;
    for (int64_t d = 0; d < hidden; ++d) sum[row * hidden + d] += factor * result[row * hidden + d];
  }
}

void DecoderStep::add_product(const Product& product, const Tensor& from, const Norm& norm) {
  const Tensor x = view(x_);
  if (!norm && model_.config_.residual_scale == 1) {
    multiply(product.packed(), from, x, LinearActivation::None, model_.residual(x));
    return model_.sum_over_ranks(x);
  }
  const Tensor branch = view(branch_);
  multiply(product, from, branch);
  model_.sum_over_ranks(branch);
  add_branch(norm);
}

void DecoderStep::add_branch(const Norm& norm) {
  const Tensor branch = view(branch_);
  if (norm) norm.run(branch, branch);
  const auto scale = static_cast<float>(model_.config_.residual_scale);
  float* const x = x_.data_as<float>();
  const float* const added = branch.data_as<float>();
  for (int64_t i = 0; i < branch.numel(); ++i) x[i] += scale * added[i];
}

Tensor DecoderStep::logits_of_last(int64_t rows) {
  const int64_t hidden = x_.size(1);
  if (rows == rows_) return head(view(x_));
  if (!last_.defined() || last_.size(0) != rows || last_rows_ != rows_) {
    last_ = x_.as_strided({rows, hidden}, {hidden, 1}, (rows_ - rows) * hidden);
    last_rows_ = rows_;
  }
  return head(last_);
}

Tensor DecoderStep::logits_of(std::span<const int64_t> wanted) {
  const int64_t hidden = x_.size(1);
  for (size_t i = 0; i < wanted.size(); ++i)
    std::copy_n(x_.data_as<float>() + wanted[i] * hidden, hidden,
                wanted_.data_as<float>() + static_cast<int64_t>(i) * hidden);
  return head(shaped(wanted_, static_cast<int64_t>(wanted.size()), hidden));
}

std::span<const float> DecoderStep::state_of(int64_t row) {
  const int64_t hidden = x_.size(1);
  const Tensor normed = shaped(wanted_normed_, 1, hidden);
  weights_.norm.run(x_.as_strided({1, hidden}, {hidden, 1}, row * hidden), normed);
  return {normed.data_as<float>(), static_cast<size_t>(hidden)};
}

Tensor DecoderStep::head(const Tensor& last) {
  const int64_t rows = last.size(0);
  const Share& share = *model_.share_;
  const Tensor normed = shaped(wanted_normed_, rows, wanted_normed_.size(1));
  weights_.norm.run(last, normed);
  if (share.size == 1) {
    const Tensor logits = shaped(logits_, rows, logits_.size(1));
    multiply(weights_.head, normed, logits);
    model_.finish_logits(logits);
    return logits;
  }
  multiply(weights_.head, normed, own_vocab_);
  model_.gather_logits(own_, others_, logits_);
  model_.finish_logits(logits_);
  return logits_;
}

}  // namespace weft::models
