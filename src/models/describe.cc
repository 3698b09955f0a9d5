// A description of a decoder in words: `weft inspect`.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "weft/models/config.h"

namespace weft::models {
namespace {

const char* name(MlpActivation activation) {
  switch (activation) {
    case MlpActivation::Silu: return "silu";
    case MlpActivation::GeluTanh: return "gelu (tanh)";
    case MlpActivation::Gelu: return "gelu";
    case MlpActivation::Relu: return "relu";
    case MlpActivation::SquaredRelu: return "squared relu";
    case MlpActivation::ClampedSilu: return "clamped silu";
    case MlpActivation::Xielu: return "xielu";
  }
  return "";
}

const char* name(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::None: return "";
    case RopeScaling::Linear: return "linear";
    case RopeScaling::Llama3: return "llama3";
    case RopeScaling::Yarn: return "yarn";
    case RopeScaling::LongRope: return "longrope";
  }
  return "";
}

const char* name(RouterScores scores) {
  switch (scores) {
    case RouterScores::Softmax: return "softmax";
    case RouterScores::Sigmoid: return "sigmoid";
    case RouterScores::SoftmaxOfChosen: return "softmax of the chosen";
    case RouterScores::SparseMixer: return "softmax of those near the best, one by one";
  }
  return "";
}

// The layers for which it holds, as "all", "0-3, 5"; "" for none.
std::string layers_with(const DecoderConfig& config, const std::function<bool(const LayerKind&)>& holds) {
  std::string text;
  int64_t count = 0;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    if (!holds(config.layer(i))) continue;
    int64_t last = i;
    while (last + 1 < config.num_layers && holds(config.layer(last + 1))) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", i);
    if (last > i) text += fmt::format("-{}", last);
    count += last - i + 1;
    i = last;
  }
  return count == config.num_layers ? "all" : text;
}

std::string rope_text(const Rope& rope, int64_t head_dim) {
  const int64_t dim = rope.dim == 0 ? head_dim : rope.dim;
  std::string text = fmt::format("theta {}, {} of {} elements, {} pairs", rope.theta, dim, head_dim,
                                 rope.interleaved ? "interleaved" : "split");
  if (rope.scaling == RopeScaling::None) return text;
  text += fmt::format(", {} of factor {}", name(rope.scaling), rope.factor);
  if (rope.scaling != RopeScaling::Linear) text += fmt::format(" from {} positions", rope.original_positions);
  return text;
}

std::string experts_text(const Experts& experts) {
  std::string text =
      fmt::format("{} of {}, {} columns each, {}{}", experts.chosen, experts.count, experts.intermediate_size,
                  name(experts.scores), experts.is_normalized ? ", normalized" : "");
  if (experts.groups > 1) text += fmt::format(", of {} of {} groups", experts.chosen_groups, experts.groups);
  if (experts.scale != 1) text += fmt::format(", times {}", experts.scale);
  if (experts.scales_input) text += ", scaled inputs";
  if (experts.shared_size > 0) text += fmt::format(", a shared one of {}", experts.shared_size);
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe(const DecoderConfig& config) {
  std::vector<std::pair<std::string, std::string>> lines;
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) lines.emplace_back(what, value);
  };
  const auto scale = [&](const char* what, double value, double plain) {
    if (value != plain) line(what, fmt::format("{}", value));
  };
  line("family", config.model_type +
                     (config.part_of.empty() ? "" : fmt::format(", the text part of {}", config.part_of)));
  line("parameters",
       fmt::format("{}{}", config.num_parameters(),
                   config.experts ? fmt::format(", {} for a token", config.num_active_parameters()) : ""));
  line("vocabulary", fmt::format("{}{}", config.vocab_size, config.tie_word_embeddings ? ", tied" : ""));
  line("positions",
       fmt::format("{}{}", config.max_position_embeddings, config.has_learned_positions ? ", learned" : ""));
  line("layers", fmt::format("{} of {}{}", config.num_layers, config.hidden_size,
                             config.is_parallel ? ", attention beside the MLP" : ""));
  const TensorNames& names = config.names;
  line("norms",
       fmt::format("{}, eps {}{}{}{}{}{}", config.norm == NormKind::Rms ? "rms" : "layer", config.norm_eps,
                   config.norm_has_weights ? "" : ", no weights", config.norm_bias ? ", bias" : "",
                   config.norm_offset != 0 ? fmt::format(", weights + {}", config.norm_offset) : "",
                   names.attention_norm.empty() ? ", none before" : ", before",
                   names.attention_post_norm.empty() ? "" : " and behind"));
  if (!names.embedding_norm.empty()) line("norm of embeddings", "before the layers");
  line("heads", fmt::format("{} of {}, {} for keys and values", config.num_heads, config.head_dim,
                            config.num_kv_heads));
  const char* const head_norms[] = {"", "one weight for all heads", "a weight per head",
                                    "all heads as one row"};
  if (config.head_norm != HeadNorm::None)
    line("norms of heads",
         fmt::format("{}{} in layers {}", head_norms[static_cast<size_t>(config.head_norm)],
                     config.head_norm_follows_rope ? ", of turned heads," : "",
                     layers_with(config, [](const LayerKind& l) { return l.has_head_norm; })));
  if (config.latent)
    line("latent attention",
         fmt::format(
             "keys and values from {}, queries from {}, {} plain and {} turning elements, values of {}",
             config.latent->rank,
             config.latent->query_rank > 0 ? std::to_string(config.latent->query_rank) : "the input",
             config.latent->plain_dim, config.latent->rope_dim, config.latent->value_dim));
  for (size_t i = 0; i < config.ropes.size(); ++i)
    if (const std::string layers = layers_with(config, [&](const LayerKind& l) { return l.rope == i; });
        !layers.empty())
      line("rope", fmt::format("{}; layers {}", rope_text(config.ropes[i], config.head_dim), layers));
  if (const std::string layers =
          layers_with(config, [](const LayerKind& l) { return !l.rope && !l.is_convolution && !l.is_delta; });
      !layers.empty() && !config.has_learned_positions && !config.alibi)
    line("no positions", "layers " + layers);
  if (config.alibi)
    line("alibi", fmt::format("slopes down to 2^-{}{}{}", config.alibi->max_bias,
                              config.alibi->is_scaled ? ", scaled as scores are" : "",
                              config.alibi->is_rounded ? ", in bfloat16" : ""));
  int64_t window = 0, chunk = 0;
  for (int64_t i = 0; i < config.num_layers; ++i)
    window = std::max(window, config.layer(i).window.value_or(0)),
    chunk = std::max(chunk, config.layer(i).chunk.value_or(0));
  if (window > 0)
    line("window", fmt::format("{} tokens; layers {}", window,
                               layers_with(config, [](const LayerKind& l) { return l.window.has_value(); })));
  if (chunk > 0)
    line("chunks", fmt::format("of {} tokens; layers {}", chunk,
                               layers_with(config, [](const LayerKind& l) { return l.chunk.has_value(); })));
  if (const std::string layers = layers_with(config, [](const LayerKind& l) { return l.is_convolution; });
      !layers.empty())
    line("convolutions", fmt::format("of {} positions; layers {}", config.convolution_size, layers));
  if (config.has_states())
    line(
        "gated delta rule",
        fmt::format("{} heads of {} for queries and keys, {} of {} for values, convolutions of {} positions; "
                    "layers {}",
                    config.delta->key_heads, config.delta->key_dim, config.delta->value_heads,
                    config.delta->value_dim, config.convolution_size,
                    layers_with(config, [](const LayerKind& l) { return l.is_delta; })));
  if (config.gates_attention) line("gates", "of what heads give");
  std::string biases;
  for (const auto& [is_there, what] : {std::pair{config.qkv_bias, "queries, keys and values"},
                                       {config.output_bias, "attention's output"},
                                       {config.mlp_bias, "the MLP"},
                                       {config.head_bias, "the head"}})
    if (is_there) biases += fmt::format("{}{}", biases.empty() ? "" : ", ", what);
  line("biases", biases);
  scale("limit of queries, keys and values", config.clip_qkv, 0);
  scale("scale of scores", config.score_scale.value_or(0), 0);
  scale("cap of scores", config.score_cap, 0);
  if (config.has_sinks) line("sinks", "one per head");
  line("MLP", fmt::format("{} columns, {}{}", config.intermediate_size, config.is_gated ? "gated by " : "",
                          name(config.activation)));
  if (config.experts)
    line("experts", fmt::format("{}; layers {}", experts_text(*config.experts),
                                layers_with(config, [](const LayerKind& l) { return l.has_experts; })));
  scale("scale of embeddings", config.embedding_scale, 1);
  scale("scale of residuals", config.residual_scale, 1);
  scale("scale of logits", config.logit_scale, 1);
  scale("cap of logits", config.logit_cap, 0);
  line("dtype", config.torch_dtype);
  return lines;
}

}  // namespace weft::models
