#include "models/decoder_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "models/tensor_names.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

std::optional<LinearActivation> fused_activation(MlpActivation activation) {
  switch (activation) {
    case MlpActivation::Silu: return LinearActivation::Silu;
    case MlpActivation::GeluTanh: return LinearActivation::GeluTanh;
    case MlpActivation::Relu: return LinearActivation::Relu;
    default: return std::nullopt;
  }
}

class Loader {
 public:
  Loader(const DecoderConfig& config, const ModelOptions& options, const Share& share, WeightSource& source)
      : config_(config), options_(options), share_(share), source_(source) {}

  std::unique_ptr<const DecoderWeights> load() {
    auto weights = std::make_unique<DecoderWeights>();
    const TensorNames& names = config_.names;
    const int64_t steps = config_.num_layers + 1, hidden = config_.hidden_size;
    for (int64_t i = 0; i < config_.num_layers; ++i) {
      layer_ = i;
      prefix_ = layer_prefix(names, i);
      weights->layers.push_back(layer());
      weights->bytes_per_token += bytes_of(weights->layers.back());
      if (options_.progress) options_.progress(i + 1, steps);
    }
    prefix_.clear();
    weights->norm = norm(names.final_norm, hidden);
    weights->embedding_norm = norm(names.embedding_norm, hidden);
    if (config_.alibi) weights->slopes = slopes();
    weights->embedding =
        source_.embedding(names.embedding + ".weight", config_.vocab_size, hidden).to(options_.device);
    if (config_.has_learned_positions)
      weights->positions =
          source_.embedding(names.positions + ".weight", config_.position_rows(), hidden).to(options_.device);
    const MatrixPart words = rows(vocab_range(config_, share_.rank, share_.size));
    LinearWeight head =
        config_.tie_word_embeddings
            ? source_.tied_head(names.embedding + ".weight", names.head, config_.vocab_size, hidden, words)
            : source_.linear(names.head, config_.vocab_size, hidden, config_.head_bias, words);
    if (config_.tie_word_embeddings && config_.head_bias) {
      const Tensor bias = source_.vector(names.head + ".bias", {config_.vocab_size});
      head.bias = words.rows ? slice(bias, 0, words.rows->begin, words.rows->end) : bias;
    }
    weights->head = product({head});
    weights->bytes_per_token += weights->head.bytes();
    for (const Rope& rope : config_.ropes) weights->ropes.push_back(table(rope));
    if (options_.progress) options_.progress(steps, steps);
    return weights;
  }

 private:
  bool is_divided() const { return share_.size > 1; }
  Tensor here(const Tensor& tensor) const { return tensor.to(options_.device); }
  Product product(std::vector<LinearWeight> weights, bool is_gated = false) const {
    return {std::move(weights), options_.device, is_gated};
  }
  MatrixPart rows(Range range) const { return is_divided() ? MatrixPart{.rows = range} : MatrixPart{}; }
  MatrixPart columns(Range range) const { return is_divided() ? MatrixPart{.columns = range} : MatrixPart{}; }
  LinearWeight linear(Role role, const MatrixPart& part = {}, int64_t expert = -1) const {
    const NamedMatrix matrix = named_matrix(config_, layer_, role, expert);
    // What is added over the ranks has its bias once.
    return source_.linear(matrix.name, matrix.out, matrix.in,
                          matrix.has_bias && (!part.columns || share_.rank == 0), part);
  }
  Product one(Role role, const MatrixPart& part = {}) const { return product({linear(role, part)}); }

  Norm norm(const std::string& name, int64_t size, bool has_bias) const {
    if (name.empty()) return {};
    Norm result{.kind = config_.norm, .eps = config_.norm_eps, .size = size};
    if (!config_.norm_has_weights) {
      result.weight = here(Tensor::full({size}, 1.0, DType::F32));
      return result;
    }
    result.weight = here(offset(source_.vector(prefix_ + name + ".weight", {size})));
    if (has_bias) result.bias = here(source_.vector(prefix_ + name + ".bias", {size}));
    return result;
  }
  Norm norm(const std::string& name, int64_t size) const { return norm(name, size, config_.norm_bias); }
  Tensor offset(const Tensor& weight) const {
    return config_.norm_offset == 0 ? weight : weight + config_.norm_offset;
  }

  HeadNorms head_norms(const std::string& name, int64_t own, int64_t all) const {
    if (config_.head_norm == HeadNorm::None || !config_.layer(layer_).has_head_norm) return {};
    const int64_t dim = config_.head_dim;
    HeadNorms result{.shape = config_.head_norm,
                     .kind = config_.head_norm_kind,
                     .eps = config_.norm_eps,
                     .heads = own,
                     .dim = dim,
                     .all_heads = all};
    if (!config_.head_norm_has_weights) return result;
    const std::string full = prefix_ + name + ".weight";
    if (config_.head_norm == HeadNorm::Shared) {
      result.weight = here(offset(source_.vector(full, {dim})));
      if (config_.head_norm_bias) result.bias = here(source_.vector(prefix_ + name + ".bias", {dim}));
      return result;
    }
    const bool is_whole = config_.head_norm == HeadNorm::Whole;
    Tensor weight;
    if (const std::vector<std::string> each = names_of_heads(name, all); !each.empty()) {
      std::vector<Tensor> rows;
      for (const std::string& one : each)
        rows.push_back(reshape(source_.vector(prefix_ + one + ".weight", {dim}), {1, dim}));
      weight = concatenate(rows, 0);
    } else {
      weight = reshape(source_.vector(full, is_whole ? Shape{all * dim} : Shape{all, dim}), {all, dim});
    }
    const Range part = share_.of(all);
    result.weight = here(offset(slice(weight, 0, part.begin, part.end).contiguous()));
    return result;
  }

  Mlp mlp(Role gate, Role up, Role down, int64_t size, int64_t expert = -1) const {
    const Range between = intermediate_range(size, options_.quantize, share_.rank, share_.size);
    Mlp result{.size = between.size(),
               .is_gated = config_.is_gated,
               .activation = config_.activation,
               .limit = config_.activation_limit,
               .fused = fused_activation(config_.activation)};
    std::vector<LinearWeight> in;
    if (config_.is_gated) in.push_back(linear(gate, rows(between), expert));
    in.push_back(linear(up, rows(between), expert));
    // What lies in two formats is computed by two products, and activated behind them.
    if (config_.is_gated && !PackedLinear::may_be_gated(in[0], in[1])) result.fused.reset();
    result.in = product(std::move(in), config_.is_gated && result.fused.has_value());
    result.down = product({linear(down, columns(between), expert)});
    return result;
  }

  // source: XIELUActivation of transformers, whose beta is a half.
  void read_alphas(Mlp& mlp) const {
    if (config_.names.activation.empty()) return;
    const auto softplus_of = [&](const char* name) {
      const double x = source_.vector(prefix_ + config_.names.activation + name, {1}).data_as<float>()[0];
      return x > 30 ? x : std::log1p(std::exp(x));
    };
    mlp.alpha_positive = softplus_of(".alpha_p");
    mlp.alpha_negative = 0.5 + softplus_of(".alpha_n");
  }

  void delta(DecoderLayer& layer) const {
    const TensorNames& names = config_.names;
    const DeltaRule& rule = *config_.delta;
    layer.delta_in = product({linear(Role::DeltaQuery), linear(Role::DeltaKey), linear(Role::DeltaValue),
                              linear(Role::DeltaGate)});
    layer.delta_rates = product({linear(Role::DeltaBeta), linear(Role::DeltaDecay)});
    layer.output = one(Role::DeltaOutput);
    layer.convolution = taps(prefix_ + names.convolution, rule.channels());
    layer.delta_decay = here(exp(source_.vector(prefix_ + names.delta_decay_log, {rule.value_heads})) * -1.0);
    layer.delta_step_bias = here(source_.vector(prefix_ + names.delta_step_bias, {rule.value_heads}));
    layer.delta_norm = here(source_.vector(prefix_ + names.delta_norm + ".weight", {rule.value_dim}));
  }

  // [positions, channels] of a convolution.
  Tensor taps(const std::string& name, int64_t channels) const {
    const int64_t size = config_.convolution_size;
    const Tensor weight = source_.vector(name + ".weight", {channels, 1, size});
    return here(transpose(reshape(weight, {channels, size}), 0, 1).contiguous());
  }

  ExpertLayer experts() const {
    const Experts& experts = *config_.experts;
    ExpertLayer result{.router = one(Role::Router)};
    if (experts.has_correction)
      result.correction = reshape(
          source_.vector(prefix_ + config_.names.correction, correction_shape(config_)), {experts.count});
    for (int64_t i = 0; i < experts.count; ++i)
      result.experts.push_back(
          mlp(Role::ExpertGate, Role::ExpertUp, Role::ExpertDown, experts.intermediate_size, i));
    if (experts.shared_size > 0)
      result.shared = mlp(Role::SharedGate, Role::SharedUp, Role::SharedDown, experts.shared_size);
    if (experts.shared_is_gated) result.shared_scale = one(Role::SharedScale);
    return result;
  }

  void attention(DecoderLayer& layer) const {
    const TensorNames& names = config_.names;
    const Range heads = share_.of(config_.num_heads), kv_heads = share_.of(config_.num_kv_heads);
    const auto of_heads = [&](Range range, int64_t dim) { return Range{range.begin * dim, range.end * dim}; };
    const int64_t dim = config_.head_dim;
    if (config_.has_sinks) {
      const Tensor all = source_.vector(prefix_ + names.sinks, {config_.num_heads});
      layer.sinks = here(slice(all, 0, heads.begin, heads.end).contiguous());
    }
    if (config_.latent) {
      const LatentAttention& latent = *config_.latent;
      const MatrixPart queries = rows(of_heads(heads, dim));
      if (latent.query_rank > 0) {
        layer.latent_query_in = one(Role::LatentQueryIn);
        layer.latent_query_norm = norm(names.latent_query_norm, latent.query_rank, false);
        layer.latent_query_out = one(Role::LatentQueryOut, queries);
      } else {
        layer.latent_query_out = one(Role::Query, queries);
      }
      layer.latent_in = one(Role::LatentIn);
      layer.latent_norm = norm(names.latent_norm, latent.rank, false);
      layer.latent_out = one(Role::LatentOut, rows(of_heads(heads, latent.plain_dim + latent.value_dim)));
    } else {
      queries_keys_and_values(layer, rows(of_heads(heads, dim)), rows(of_heads(kv_heads, dim)));
    }
    layer.output = one(Role::Output, columns(of_heads(heads, config_.value_dim())));
    if (config_.gates_attention) layer.attention_gate = one(Role::AttentionGate, rows(of_heads(heads, dim)));
  }

  void queries_keys_and_values(DecoderLayer& layer, const MatrixPart& queries, const MatrixPart& keys) const {
    const TensorNames& names = config_.names;
    layer.qkv = product({linear(Role::Query, queries), linear(Role::Key, keys), linear(Role::Value, keys)});
    layer.query_norm = head_norms(names.query_norm, share_.heads, config_.num_heads);
    layer.key_norm = head_norms(names.key_norm, share_.kv_heads, config_.num_kv_heads);
    if (!config_.head_norm_follows_rope) return;
    layer.turned_query_weight = std::exchange(layer.query_norm.weight, {});
    layer.turned_key_weight = std::exchange(layer.key_norm.weight, {});
  }

  // Of as many heads as a power of two, slopes become smaller by one factor; those of further heads lie
  // between them.
  Tensor slopes() const {
    const Alibi& alibi = *config_.alibi;
    const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(config_.num_heads)));
    const Range heads = share_.of(config_.num_heads);
    std::vector<float> values;
    for (int64_t head = heads.begin; head < heads.end; ++head) {
      const double part =
          head < power ? static_cast<double>(head + 1) : static_cast<double>(head - power) + 0.5;
      const auto slope = static_cast<float>(std::exp2(-alibi.max_bias * part / static_cast<double>(power)));
      values.push_back(alibi.is_rounded ? static_cast<float>(BFloat16(slope)) : slope);
    }
    return here(Tensor::of(values));
  }

  void convolution(DecoderLayer& layer) const {
    const std::string name = prefix_ + config_.names.convolution;
    const int64_t hidden = config_.hidden_size;
    layer.convolution_in = one(Role::ConvolutionIn);
    layer.output = one(Role::ConvolutionOut);
    layer.convolution = taps(name, hidden);
    if (config_.convolution_bias) layer.convolution_bias = here(source_.vector(name + ".bias", {hidden}));
  }

  DecoderLayer layer() const {
    const TensorNames& names = config_.names;
    const int64_t hidden = config_.hidden_size;
    DecoderLayer result{.kind = config_.layer(layer_),
                        .attention_norm = norm(names.attention_norm, hidden),
                        .attention_post_norm = norm(names.attention_post_norm, hidden),
                        .mlp_norm = norm(names.mlp_norm, hidden),
                        .mlp_post_norm = norm(names.mlp_post_norm, hidden)};
    if (result.kind.is_convolution)
      convolution(result);
    else if (result.kind.is_delta)
      delta(result);
    else
      attention(result);
    if (result.kind.has_experts)
      result.experts = experts();
    else
      result.mlp = mlp(Role::Gate, Role::Up, Role::Down, config_.intermediate_size);
    if (!result.kind.has_experts) read_alphas(result.mlp);
    return result;
  }

  // Of weights that one token reads: those of the experts that it chooses.
  int64_t bytes_of(const DecoderLayer& layer) const {
    int64_t bytes = layer.mlp.bytes();
    for (const Product* product : {&layer.qkv, &layer.output, &layer.latent_query_in, &layer.latent_query_out,
                                   &layer.latent_in, &layer.latent_out, &layer.convolution_in,
                                   &layer.delta_in, &layer.delta_rates, &layer.attention_gate})
      bytes += product->bytes();
    if (!layer.experts) return bytes;
    bytes += layer.experts->router.bytes() + layer.experts->shared_scale.bytes() +
             layer.experts->experts[0].bytes() * config_.experts->chosen;
    return bytes + (layer.experts->shared ? layer.experts->shared->bytes() : 0);
  }

  DecoderWeights::RopeTable table(const Rope& rope) const {
    Rope whole = rope;
    if (whole.dim == 0) whole.dim = config_.head_dim;
    DecoderWeights::RopeTable result{.dim = whole.dim, .original_positions = whole.original_positions};
    result.of_short = here(rope_table(whole, options_.max_positions));
    if (whole.scaling == RopeScaling::LongRope && options_.max_positions > whole.original_positions)
      result.of_long = here(rope_table(whole, options_.max_positions, true));
    return result;
  }

  const DecoderConfig& config_;
  const ModelOptions& options_;
  const Share& share_;
  WeightSource& source_;
  int64_t layer_ = 0;
  std::string prefix_;
};

}  // namespace

std::unique_ptr<const DecoderWeights> load_weights(const DecoderConfig& config, const ModelOptions& options,
                                                   const Share& share, WeightSource& source) {
  return Loader(config, options, share, source).load();
}

}  // namespace weft::models
