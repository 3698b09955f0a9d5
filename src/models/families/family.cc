#include "models/families/family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/printable.h"
#include "core/suggest.h"
#include "weft/error.h"

namespace weft::models {
namespace {

std::map<std::string, ReadFamily>& families() {
  static auto& table = *new std::map<std::string, ReadFamily>;
  return table;
}

constexpr int64_t kMostLayers = int64_t{1} << 16;  // more are refused by DecoderConfig::check

}  // namespace

bool register_family(const char* model_type, ReadFamily read) {
  families()[model_type] = read;
  return true;
}

ReadFamily find_family(const std::string& model_type) {
  const auto found = families().find(model_type);
  return found == families().end() ? nullptr : found->second;
}

std::vector<std::string> model_types() {
  std::vector<std::string> names;
  for (const auto& family : families()) names.push_back(family.first);
  return names;
}

void read_head_sizes(const JsonFields& fields, DecoderConfig& config, const char* heads_key,
                     std::optional<int64_t> head_dim) {
  WEFT_CHECK(config.num_heads > 0,
             fmt::format("{}: {} must be positive, got {}", fields.where(), heads_key, config.num_heads));
  if (!head_dim) {
    WEFT_CHECK(config.hidden_size % config.num_heads == 0,
               fmt::format("{}: hidden_size {} is not a multiple of {} {}, and there is no head_dim",
                           fields.where(), config.hidden_size, heads_key, config.num_heads));
    head_dim = config.hidden_size / config.num_heads;
  }
  config.head_dim = *head_dim;
  config.layers.resize(static_cast<size_t>(std::clamp<int64_t>(config.num_layers, 0, kMostLayers)));
}

void read_sizes(const JsonFields& fields, DecoderConfig& config) {
  config.vocab_size = fields.integer("vocab_size");
  config.hidden_size = fields.integer("hidden_size");
  config.intermediate_size = fields.integer("intermediate_size");
  config.num_layers = fields.integer("num_hidden_layers");
  config.num_heads = fields.integer("num_attention_heads");
  config.num_kv_heads = fields.integer("num_key_value_heads", config.num_heads);
  config.max_position_embeddings = fields.integer("max_position_embeddings", 2048);
  config.norm_eps = fields.real("rms_norm_eps", 1e-6);
  read_head_sizes(fields, config, "num_attention_heads",
                  fields.has("head_dim") ? std::optional(fields.integer("head_dim")) : std::nullopt);
}

void read_llama_parts(const JsonFields& fields, DecoderConfig& config, const LlamaDefaults& defaults) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("rms_norm_eps", defaults.norm_eps);
  read_activation(fields, config, "hidden_act", defaults.activation);
  read_rope(fields, config, defaults.theta, defaults.share, defaults.own);
  read_tied(fields, config, defaults.is_tied);
}

void read_tied(const JsonFields& fields, DecoderConfig& config, bool fallback) {
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings", fallback);
}

void read_activation(const JsonFields& fields, DecoderConfig& config, const char* key,
                     const std::string& fallback) {
  static const auto& kKinds =
      *new std::map<std::string, MlpActivation>{{"silu", MlpActivation::Silu},
                                                {"swish", MlpActivation::Silu},
                                                {"gelu", MlpActivation::Gelu},
                                                {"gelu_new", MlpActivation::GeluTanh},
                                                {"gelu_pytorch_tanh", MlpActivation::GeluTanh},
                                                {"relu", MlpActivation::Relu},
                                                {"relu2", MlpActivation::SquaredRelu}};
  const std::string name = fields.text(key, fallback);
  const auto found = kKinds.find(name);
  std::vector<std::string> names;
  for (const auto& kind : kKinds) names.push_back(kind.first);
  WEFT_CHECK(found != kKinds.end(), fmt::format("{}: {} must be one of {}, got {}", fields.where(), key,
                                                fmt::join(names, ", "), printable(name)));
  config.activation = found->second;
}

std::vector<std::string> read_layer_types(const JsonFields& fields, const DecoderConfig& config,
                                          const std::vector<std::string>& allowed) {
  if (!fields.has("layer_types")) return {};
  std::vector<std::string> types = fields.texts("layer_types");
  WEFT_CHECK(static_cast<int64_t>(types.size()) == config.num_layers,
             fmt::format("{}: layer_types has {} entries, num_hidden_layers is {}", fields.where(),
                         types.size(), config.num_layers));
  for (size_t i = 0; i < types.size(); ++i)
    WEFT_CHECK(std::find(allowed.begin(), allowed.end(), types[i]) != allowed.end(),
               fmt::format("{}: layer_types has '{}' for layer {}; weft has {}", fields.where(),
                           printable(types[i]), i, fmt::join(allowed, " and ")));
  return types;
}

void read_windows_by_type(const JsonFields& fields, DecoderConfig& config,
                          const std::vector<std::string>& types) {
  fields.pass_over("sliding_window");
  for (size_t i = 0; i < types.size() && i < config.layers.size(); ++i) {
    if (types[i] != "sliding_attention") continue;
    WEFT_CHECK(fields.has("sliding_window"),
               fmt::format("{}: layer_types has sliding_attention for layer {}, and there is no "
                           "sliding_window",
                           fields.where(), i));
    config.layers[i].window = fields.integer("sliding_window");
  }
}

void set_windows_that_turn(DecoderConfig& config, const std::vector<std::string>& types, int64_t pattern,
                           int64_t window) {
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const bool slides =
        types.empty() ? (static_cast<int64_t>(i) + 1) % pattern != 0 : types[i] == "sliding_attention";
    if (slides)
      config.layers[i].window = window;
    else
      config.layers[i].rope.reset();
  }
}

// source: Qwen2Config of transformers.
void read_qwen_windows(const JsonFields& fields, DecoderConfig& config) {
  std::optional<int64_t> window;
  if (fields.boolean("use_sliding_window", false)) {
    if (fields.has("sliding_window")) window = fields.integer("sliding_window");
    if (fields.is_absent("sliding_window")) window = 4096;
  }
  for (const char* key : {"sliding_window", "max_window_layers"}) fields.pass_over(key);
  if (fields.has("layer_types")) {
    const std::vector<std::string> types = read_layer_types(fields, config);
    for (size_t i = 0; i < types.size() && i < config.layers.size(); ++i) {
      WEFT_CHECK(types[i] == "full_attention" || window,
                 fmt::format("{}: layer_types has sliding_attention for layer {}, and there is no "
                             "sliding_window",
                             fields.where(), i));
      if (types[i] == "sliding_attention") config.layers[i].window = window;
    }
  } else if (window) {
    for (int64_t i = std::max<int64_t>(0, fields.integer("max_window_layers", 28));
         i < static_cast<int64_t>(config.layers.size()); ++i)
      config.layers[static_cast<size_t>(i)].window = window;
  }
}

void read_experts(const JsonFields& fields, DecoderConfig& config, const char* count_key) {
  Experts experts;
  experts.count = fields.integer(count_key);
  experts.chosen = fields.integer("num_experts_per_tok");
  experts.intermediate_size = fields.integer("moe_intermediate_size", config.intermediate_size);
  experts.is_normalized = fields.boolean("norm_topk_prob", false);
  config.experts = experts;
  for (const char* key : {"router_aux_loss_coef", "output_router_logits", "router_jitter_noise"})
    fields.pass_over(key);
  for (LayerKind& layer : config.layers) layer.has_experts = true;
}

void expect(const JsonFields& fields, const char* key, const char* values, const char* why) {
  const IrrelevantKey only[] = {{key, why, values}};
  if (fields.has(key)) fields.check_value(only[0]);
}

std::vector<MatrixName> stacked(const std::string& name, const std::vector<int64_t>& rows) {
  std::vector<MatrixName> result;
  int64_t total = 0;
  for (const int64_t count : rows) {
    result.push_back({.name = name, .first = total, .block = count});
    total += count;
  }
  for (MatrixName& matrix : result) matrix.period = matrix.rows = total;
  return result;
}

void fuse_by_group(TensorNames& names, const std::string& name, const DecoderConfig& config) {
  const int64_t queries = config.num_heads / std::max<int64_t>(1, config.num_kv_heads) * config.head_dim,
                period = queries + 2 * config.head_dim, rows = period * config.num_kv_heads;
  names.query = {.name = name, .first = 0, .block = queries, .period = period, .rows = rows};
  names.key = {.name = name, .first = queries, .block = config.head_dim, .period = period, .rows = rows};
  names.value = {.name = name,
                 .first = queries + config.head_dim,
                 .block = config.head_dim,
                 .period = period,
                 .rows = rows};
}

void read_gpt_sizes(const JsonFields& fields, DecoderConfig& config, int64_t positions,
                    const std::string& activation) {
  config.vocab_size = fields.integer("vocab_size", 50257);
  config.hidden_size = fields.integer("n_embd");
  config.num_layers = fields.integer("n_layer");
  config.num_heads = config.num_kv_heads = fields.integer("n_head");
  config.max_position_embeddings = fields.integer("n_positions", positions);
  config.intermediate_size = fields.integer("n_inner", 4 * config.hidden_size);
  config.norm_eps = fields.real("layer_norm_epsilon", 1e-5);
  read_head_sizes(fields, config, "n_head");
  read_activation(fields, config, "activation_function", activation);
}

int64_t read_either(const JsonFields& fields, const char* key, const char* other,
                    std::optional<int64_t> fallback) {
  return fields.has(key) || !fields.has(other) ? fields.integer(key, fallback) : fields.integer(other);
}

void pass_over_summaries(const JsonFields& fields) {
  for (const char* key : {"summary_activation", "summary_first_dropout", "summary_proj_to_labels",
                          "summary_type", "summary_use_proj"})
    fields.pass_over(key);
}

void set_gpt_names(TensorNames& names) {
  names.layer = "transformer.h.{}.";
  names.embedding = "transformer.wte", names.final_norm = "transformer.ln_f";
  names.attention_norm = "ln_1", names.mlp_norm = "ln_2";
}

void set_norms_behind(TensorNames& names) {
  names.attention_norm = names.mlp_norm = "";
  names.attention_post_norm = "post_attention_layernorm";
  names.mlp_post_norm = "post_feedforward_layernorm";
}

void set_plain_mlp(DecoderConfig& config, const std::string& up, const std::string& down) {
  config.is_gated = false;
  config.names.gate = {};
  config.names.up = {.name = up};
  config.names.down = {.name = down};
}

}  // namespace weft::models
