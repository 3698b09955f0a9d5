#include "models/tensor_names.h"

#include <fmt/format.h>

#include <charconv>
#include <initializer_list>
#include <set>
#include <vector>

#include "core/printable.h"
#include "models/weight_source.h"
#include "weft/error.h"

namespace weft::models {
namespace {

class LayerTensors {
 public:
  LayerTensors(const DecoderConfig& config, int64_t layer)
      : config_(config), kind_(config.layer(layer)), prefix_(layer_prefix(config.names, layer)) {}

  NamedMatrix matrix(Role role, int64_t expert) const {
    const TensorNames& names = config_.names;
    const int64_t hidden = config_.hidden_size, queries = config_.num_heads * config_.head_dim,
                  kv = config_.num_kv_heads * config_.head_dim, between = config_.intermediate_size;
    const Experts experts = config_.experts.value_or(Experts{});
    const LatentAttention latent = config_.latent.value_or(LatentAttention{});
    const DeltaRule delta = config_.delta.value_or(DeltaRule{});
    const auto named = [&](const MatrixName& name, int64_t out, int64_t in, bool bias) {
      return NamedMatrix{in_layer(prefix_, name, expert), out, in, bias};
    };
    switch (role) {
      case Role::Query: return named(names.query, queries, hidden, config_.qkv_bias);
      case Role::Key: return named(names.key, kv, hidden, config_.qkv_bias);
      case Role::Value: return named(names.value, kv, hidden, config_.qkv_bias);
      case Role::Output:
        return named(names.output, hidden, config_.num_heads * config_.value_dim(), config_.output_bias);
      case Role::Gate: return named(names.gate, between, hidden, config_.mlp_bias);
      case Role::Up: return named(names.up, between, hidden, config_.mlp_bias);
      case Role::Down: return named(names.down, hidden, between, config_.mlp_bias);
      case Role::Router:
        return named({.name = names.router, .is_exact = true}, experts.count, hidden,
                     experts.has_router_bias);
      case Role::ExpertGate:
        return named(names.expert_gate, experts.intermediate_size, hidden, experts.has_bias);
      case Role::ExpertUp: return named(names.expert_up, experts.intermediate_size, hidden, experts.has_bias);
      case Role::ExpertDown:
        return named(names.expert_down, hidden, experts.intermediate_size, experts.has_bias);
      case Role::SharedGate: return named(names.shared_gate, experts.shared_size, hidden, false);
      case Role::SharedUp: return named(names.shared_up, experts.shared_size, hidden, false);
      case Role::SharedDown: return named(names.shared_down, hidden, experts.shared_size, false);
      case Role::SharedScale: return named({.name = names.shared_scale, .is_exact = true}, 1, hidden, false);
      case Role::LatentQueryIn: return named(names.latent_query_in, latent.query_rank, hidden, false);
      case Role::LatentQueryOut: return named(names.latent_query_out, queries, latent.query_rank, false);
      case Role::LatentIn: return named(names.latent_in, latent.rank + latent.rope_dim, hidden, false);
      case Role::LatentOut:
        return named(names.latent_out, config_.num_heads * (latent.plain_dim + latent.value_dim), latent.rank,
                     false);
      case Role::ConvolutionIn:
        return named(names.convolution_in, 3 * hidden, hidden, config_.convolution_bias);
      case Role::ConvolutionOut:
        return named(names.convolution_out, hidden, hidden, config_.convolution_bias);
      case Role::DeltaQuery: return named(names.delta_query, delta.keys(), hidden, false);
      case Role::DeltaKey: return named(names.delta_key, delta.keys(), hidden, false);
      case Role::DeltaValue: return named(names.delta_value, delta.values(), hidden, false);
      case Role::DeltaGate: return named(names.delta_gate, delta.values(), hidden, false);
      case Role::DeltaBeta: return named(names.delta_beta, delta.value_heads, hidden, false);
      case Role::DeltaDecay: return named(names.delta_decay, delta.value_heads, hidden, false);
      case Role::DeltaOutput: return named(names.delta_output, hidden, delta.values(), false);
      case Role::AttentionGate: return named(names.attention_gate, queries, hidden, false);
    }
    WEFT_ASSERT(false, "a matrix without a role");
  }

  std::vector<Role> roles() const {
    std::vector<Role> all;
    const auto add = [&](std::initializer_list<Role> roles) { all.insert(all.end(), roles); };
    if (kind_.is_convolution)
      add({Role::ConvolutionIn, Role::ConvolutionOut});
    else if (kind_.is_delta)
      add({Role::DeltaQuery, Role::DeltaKey, Role::DeltaValue, Role::DeltaGate, Role::DeltaBeta,
           Role::DeltaDecay, Role::DeltaOutput});
    else if (!config_.latent)
      add({Role::Query, Role::Key, Role::Value, Role::Output});
    else if (config_.latent->query_rank > 0)
      add({Role::LatentQueryIn, Role::LatentQueryOut, Role::LatentIn, Role::LatentOut, Role::Output});
    else
      add({Role::Query, Role::LatentIn, Role::LatentOut, Role::Output});
    if (config_.gates_attention && !kind_.is_convolution && !kind_.is_delta) add({Role::AttentionGate});
    const auto add_mlp = [&](Role gate, Role up, Role down) {
      if (config_.is_gated) add({gate});
      add({up, down});
    };
    if (!kind_.has_experts) {
      add_mlp(Role::Gate, Role::Up, Role::Down);
      return all;
    }
    add({Role::Router});
    add_mlp(Role::ExpertGate, Role::ExpertUp, Role::ExpertDown);
    if (config_.experts->shared_size > 0) add_mlp(Role::SharedGate, Role::SharedUp, Role::SharedDown);
    if (config_.experts->shared_is_gated) add({Role::SharedScale});
    return all;
  }

  void matrices(const std::function<void(const NamedMatrix&)>& use) const {
    for (const Role role : roles()) {
      const bool is_of_expert =
          role == Role::ExpertGate || role == Role::ExpertUp || role == Role::ExpertDown;
      const int64_t count = is_of_expert ? config_.experts->count : 1;
      for (int64_t i = 0; i < count; ++i) use(matrix(role, is_of_expert ? i : -1));
    }
  }

  void vectors(const std::function<void(const std::string&, const Shape&)>& use) const {
    const TensorNames& names = config_.names;
    const int64_t hidden = config_.hidden_size;
    const auto norm = [&](const std::string& name, int64_t size, bool bias) {
      if (name.empty()) return;
      use(prefix_ + name + ".weight", {size});
      if (bias) use(prefix_ + name + ".bias", {size});
    };
    if (config_.norm_has_weights)
      for (const std::string* name :
           {&names.attention_norm, &names.attention_post_norm, &names.mlp_norm, &names.mlp_post_norm})
        norm(*name, hidden, config_.norm_bias);
    if (kind_.has_experts && config_.experts->has_correction)
      use(prefix_ + names.correction, correction_shape(config_));
    if (!names.activation.empty() && !kind_.has_experts)
      for (const char* alpha : {".alpha_p", ".alpha_n"}) use(prefix_ + names.activation + alpha, {1});
    if (kind_.is_delta) {
      const DeltaRule& rule = *config_.delta;
      use(prefix_ + names.convolution + ".weight", {rule.channels(), 1, config_.convolution_size});
      use(prefix_ + names.delta_decay_log, {rule.value_heads});
      use(prefix_ + names.delta_step_bias, {rule.value_heads});
      norm(names.delta_norm, rule.value_dim, false);
      return;
    }
    if (kind_.is_convolution) {
      use(prefix_ + names.convolution + ".weight", {hidden, 1, config_.convolution_size});
      if (config_.convolution_bias) use(prefix_ + names.convolution + ".bias", {hidden});
      return;
    }
    if (config_.latent) {
      if (config_.latent->query_rank > 0) norm(names.latent_query_norm, config_.latent->query_rank, false);
      norm(names.latent_norm, config_.latent->rank, false);
    }
    if (config_.has_sinks) use(prefix_ + names.sinks, {config_.num_heads});
    if (config_.head_norm == HeadNorm::None || !kind_.has_head_norm || !config_.head_norm_has_weights) return;
    for (const auto& [name, heads] :
         {std::pair{&names.query_norm, config_.num_heads}, {&names.key_norm, config_.num_kv_heads}}) {
      const Shape shape = config_.head_norm == HeadNorm::Shared    ? Shape{config_.head_dim}
                          : config_.head_norm == HeadNorm::PerHead ? Shape{heads, config_.head_dim}
                                                                   : Shape{heads * config_.head_dim};
      const std::vector<std::string> each = names_of_heads(*name, heads);
      for (const std::string& one : each) use(prefix_ + one + ".weight", {config_.head_dim});
      if (each.empty()) use(prefix_ + *name + ".weight", shape);
      if (config_.head_norm_bias) use(prefix_ + *name + ".bias", {config_.head_dim});
    }
  }

 private:
  const DecoderConfig& config_;
  const LayerKind& kind_;
  std::string prefix_;
};

}  // namespace

std::vector<std::string> names_of_heads(const std::string& name, int64_t heads) {
  const size_t number = name.find("{}");
  std::vector<std::string> names;
  for (int64_t head = 0; head < heads && number != std::string::npos; ++head)
    names.push_back(std::string(name).replace(number, 2, std::to_string(head)));
  return names;
}

Shape correction_shape(const DecoderConfig& config) {
  return config.names.correction_is_row ? Shape{1, config.experts->count} : Shape{config.experts->count};
}

std::string layer_prefix(const TensorNames& names, int64_t layer) {
  std::string prefix = names.layer;
  prefix.replace(prefix.find("{}"), 2, std::to_string(layer));
  return prefix;
}

NamedMatrix named_matrix(const DecoderConfig& config, int64_t layer, Role role, int64_t expert) {
  return LayerTensors(config, layer).matrix(role, expert);
}

void for_each_matrix(const DecoderConfig& config, int64_t layer,
                     const std::function<void(const NamedMatrix&)>& use) {
  LayerTensors(config, layer).matrices(use);
}

void for_each_vector(const DecoderConfig& config, int64_t layer,
                     const std::function<void(const std::string&, const Shape&)>& use) {
  LayerTensors(config, layer).vectors(use);
}

void check_tensors(const Checkpoint& checkpoint) {
  const DecoderConfig& config = checkpoint.config();
  std::set<std::string> known;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    for_each_matrix(config, i, [&](const NamedMatrix& matrix) {
      known.insert(tensor_of(matrix.name));
      known.insert(matrix.name.name + ".scales");
      for (const std::string& suffix : checkpoint.suffixes()) known.insert(matrix.name.name + suffix);
      if (matrix.has_bias)
        known.insert(matrix.name.bias.empty() ? matrix.name.name + ".bias" : matrix.name.bias);
    });
    for_each_vector(config, i, [&](const std::string& name, const Shape&) { known.insert(name); });
    for (const std::string& name : config.names.unread) known.insert(layer_prefix(config.names, i) + name);
  }
  const std::string before = config.names.layer.substr(0, config.names.layer.find("{}"));
  for (const std::string& name : checkpoint.names()) {
    if (!name.starts_with(before)) continue;
    const size_t dot = std::min(name.find('.', before.size()), name.size());
    int64_t layer = -1;
    std::from_chars(name.data() + before.size(), name.data() + dot, layer);
    if (layer >= config.num_layers && layer < config.num_layers + config.unread_layers) continue;
    WEFT_CHECK(layer < config.num_layers,
               fmt::format("'{}': it has a tensor '{}', and the configuration's num_hidden_layers is {}",
                           checkpoint.file_of(name), printable(name), config.num_layers));
    if (known.contains(name)) continue;
    const size_t last = std::min(name.rfind('.'), name.size());
    const bool is_bias = name.ends_with(".bias") && known.contains(name.substr(0, last) + ".weight");
    throw_error(
        ErrorKind::Value,
        fmt::format("'{}': a {} model{} has no tensor '{}'", checkpoint.file_of(name), config.model_type,
                    !is_bias                                       ? ""
                    : name.find(".mlp.", dot) != std::string::npos ? " without mlp_bias"
                                                                   : " without attention_bias",
                    printable(name)));
  }
}

}  // namespace weft::models
