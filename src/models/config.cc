#include "weft/models/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/printable.h"
#include "core/suggest.h"
#include "models/families/family.h"
#include "models/irrelevant_keys.h"
#include "models/json_fields.h"
#include "models/text_part.h"
#include "models/weight_source.h"
#include "weft/error.h"

namespace weft::models {
const LayerKind& DecoderConfig::layer(int64_t index) const {
  static const auto& kPlain = *new LayerKind;
  return layers.empty() ? kPlain : layers[static_cast<size_t>(index)];
}

void DecoderConfig::set_num_layers(int64_t count) {
  num_layers = count;
  if (!layers.empty()) layers.resize(static_cast<size_t>(count));
}

bool DecoderConfig::has_states() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerKind& layer) { return layer.is_delta; });
}

namespace {

int64_t delta_parameters(const DecoderConfig& config) {
  const DeltaRule& rule = *config.delta;
  return config.hidden_size * (rule.channels() + 2 * rule.values() + 2 * rule.value_heads) +
         rule.channels() * config.convolution_size + 2 * rule.value_heads + rule.value_dim;
}

int64_t mlp_parameters(const DecoderConfig& config, int64_t intermediate, bool has_bias) {
  const int64_t inputs = config.is_gated ? 2 : 1;
  return (inputs + 1) * config.hidden_size * intermediate +
         (has_bias ? inputs * intermediate + config.hidden_size : 0);
}

int64_t attention_parameters(const DecoderConfig& config) {
  const int64_t hidden = config.hidden_size, heads = config.num_heads, dim = config.head_dim;
  if (config.latent) {
    const LatentAttention& latent = *config.latent;
    const int64_t queries =
        latent.query_rank == 0 ? hidden * heads * dim : latent.query_rank * (hidden + heads * dim + 1);
    return queries + hidden * (latent.rank + latent.rope_dim) + latent.rank +
           latent.rank * heads * (latent.plain_dim + latent.value_dim) + heads * latent.value_dim * hidden;
  }
  const int64_t kv = config.num_kv_heads;
  int64_t norms = 0;
  if (config.head_norm_has_weights) {
    if (config.head_norm == HeadNorm::Shared) norms = 2 * dim;
    if (config.head_norm == HeadNorm::PerHead || config.head_norm == HeadNorm::Whole)
      norms = (heads + kv) * dim;
    if (config.head_norm_bias) norms *= 2;
  }
  return hidden * dim * (2 * heads + 2 * kv) + (config.qkv_bias ? dim * (heads + 2 * kv) : 0) +
         (config.output_bias ? hidden : 0) + norms + (config.has_sinks ? heads : 0);
}

// Of a model each of whose layers' tokens has `chosen` experts.
int64_t parameters(const DecoderConfig& config, bool all_experts) {
  const int64_t hidden = config.hidden_size;
  const int64_t norm = config.norm_has_weights ? hidden * (config.norm_bias ? 2 : 1) : 0;
  const TensorNames& names = config.names;
  int64_t total = names.embedding_norm.empty() ? 0 : norm;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const LayerKind& layer = config.layer(i);
    for (const std::string* name :
         {&names.attention_norm, &names.attention_post_norm, &names.mlp_norm, &names.mlp_post_norm})
      if (!name->empty()) total += norm;
    if (layer.is_convolution)
      total += hidden * (4 * hidden + config.convolution_size) + (config.convolution_bias ? 5 * hidden : 0);
    else if (layer.is_delta)
      total += delta_parameters(config);
    else
      total += attention_parameters(config) +
               (config.gates_attention ? hidden * config.num_heads * config.head_dim : 0);
    if (!config.names.activation.empty()) total += 2;
    if (!layer.has_experts) {
      total += mlp_parameters(config, config.intermediate_size, config.mlp_bias);
      continue;
    }
    const Experts& experts = *config.experts;
    total += (all_experts ? experts.count : experts.chosen) *
                 mlp_parameters(config, experts.intermediate_size, experts.has_bias) +
             experts.count * (hidden + (experts.has_router_bias ? 1 : 0) + (experts.has_correction ? 1 : 0));
    if (experts.shared_size > 0)
      total += mlp_parameters(config, experts.shared_size, false) + (experts.shared_is_gated ? hidden : 0);
  }
  return total + norm + (config.has_learned_positions ? config.position_rows() * hidden : 0) +
         config.vocab_size * hidden * (config.tie_word_embeddings ? 1 : 2) +
         (config.head_bias ? config.vocab_size : 0);
}

}  // namespace

int64_t DecoderConfig::num_parameters() const { return parameters(*this, true); }
int64_t DecoderConfig::num_active_parameters() const { return parameters(*this, false); }

void DecoderConfig::check(const std::string& where, bool meta_names) const {
  const auto require = [&](bool condition, const char* field, const std::string& expected,
                           const auto& value) {
    WEFT_CHECK(condition, fmt::format("{}: {} must be {}, got {}", where, field, expected, value));
  };
  const auto called = [&](const char* name, const char* meta) { return meta_names ? meta : name; };
  constexpr int64_t kMost = int64_t{1} << 24;
  const auto size = [&](const char* field, int64_t value) {
    require(value > 0 && value <= kMost, field, fmt::format("between 1 and {}", kMost), value);
  };
  const auto number = [&](const char* field, double value, double above, double most) {
    require(value > above && value <= most, field, fmt::format("above {} and at most {}", above, most),
            value);
  };
  const char* const heads = called("num_attention_heads", "n_heads");
  size("vocab_size", vocab_size);
  size(called("hidden_size", "dim"), hidden_size);
  size(called("intermediate_size", "hidden_dim"), intermediate_size);
  size(called("num_hidden_layers", "n_layers"), num_layers);
  size(heads, num_heads);
  size(called("num_key_value_heads", "n_kv_heads"), num_kv_heads);
  size("head_dim", head_dim);
  size(called("max_position_embeddings", "max_seq_len"), max_position_embeddings);
  WEFT_CHECK(num_heads % num_kv_heads == 0,
             fmt::format("{}: {} {} is not a multiple of {} {}", where, heads, num_heads,
                         called("num_key_value_heads", "n_kv_heads"), num_kv_heads));
  require(head_dim % 2 == 0, "head_dim", "even", head_dim);
  number(called("rms_norm_eps", "norm_eps"), norm_eps, 0, 0.1);
  for (const Rope& rope : ropes) {
    number("rope_theta", rope.theta, 0, 1e12);
    require(rope.dim >= 0 && rope.dim <= head_dim && rope.dim % 2 == 0, "the part of a head that turns",
            fmt::format("even and at most {}", head_dim), rope.dim);
    if (rope.scaling == RopeScaling::None) continue;
    number("the factor of rope_scaling", rope.factor, 0, 1e6);
    size("original_max_position_embeddings of rope_scaling", rope.original_positions);
    number("low_freq_factor of rope_scaling", rope.low_freq_factor, 0, 1e6);
    number("high_freq_factor of rope_scaling", rope.high_freq_factor, rope.low_freq_factor, 1e6);
    number("beta_slow of rope_scaling", rope.beta_slow, 0, 1e6);
    number("beta_fast of rope_scaling", rope.beta_fast, 0, 1e6);
    number("attention_factor of rope_scaling", rope.attention_factor, 0, 1e6);
    number("long_mscale of rope_scaling", rope.long_attention_factor.value_or(1), 0, 1e6);
    for (const auto* factors : {&rope.short_factors, &rope.long_factors})
      for (const double factor : *factors) number("a factor of rope_scaling", factor, 0, 1e6);
  }
  WEFT_CHECK(
      layers.empty() || static_cast<int64_t>(layers.size()) == num_layers,
      fmt::format("{}: {} layers are described, num_hidden_layers is {}", where, layers.size(), num_layers));
  for (const LayerKind& layer : layers) {
    if (layer.window) require(*layer.window > 0, "sliding_window", "positive", *layer.window);
    if (layer.has_experts)
      WEFT_CHECK(experts.has_value(), fmt::format("{}: layers have experts that nothing describes", where));
    if (layer.is_convolution) size("conv_L_cache", convolution_size);
    if (layer.is_delta)
      WEFT_CHECK(delta.has_value(),
                 fmt::format("{}: layers have a delta rule that nothing describes", where));
  }
  if (delta) {
    size("linear_num_key_heads", delta->key_heads);
    size("linear_num_value_heads", delta->value_heads);
    size("linear_key_head_dim", delta->key_dim);
    size("linear_value_head_dim", delta->value_dim);
    size("linear_conv_kernel_dim", convolution_size);
    require(delta->value_heads % delta->key_heads == 0, "linear_num_value_heads",
            fmt::format("a multiple of {}", delta->key_heads), delta->value_heads);
  }
  if (experts) {
    size("the number of experts", experts->count);
    require(experts->chosen > 0 && experts->chosen <= experts->count, "num_experts_per_tok",
            fmt::format("between 1 and {}", experts->count), experts->chosen);
    size("moe_intermediate_size", experts->intermediate_size);
    require(experts->shared_size >= 0 && experts->shared_size <= kMost, "the shared experts' size",
            fmt::format("between 0 and {}", kMost), experts->shared_size);
    require(experts->jitter >= 0 && experts->jitter <= 1e6, "router_jitter_noise", "between 0 and 1000000",
            experts->jitter);
    require(experts->groups > 0 && experts->count % experts->groups == 0, "n_group",
            fmt::format("a divisor of {}", experts->count), experts->groups);
    require(experts->chosen_groups > 0 && experts->chosen_groups <= experts->groups &&
                experts->chosen <= experts->chosen_groups * (experts->count / experts->groups),
            "topk_group",
            fmt::format("at most {}, and as many as num_experts_per_tok needs", experts->groups),
            experts->chosen_groups);
  }
  if (latent) {
    size("kv_lora_rank", latent->rank);
    size("qk_nope_head_dim", latent->plain_dim);
    size("qk_rope_head_dim", latent->rope_dim);
    require(latent->value_dim > 0 && latent->value_dim <= head_dim, "v_head_dim",
            fmt::format("between 1 and {}", head_dim), latent->value_dim);
    require(latent->query_rank >= 0 && latent->query_rank <= kMost, "q_lora_rank",
            fmt::format("between 0 and {}", kMost), latent->query_rank);
  }
  if (temperature != 0) size("floor_scale", temperature_positions);
  if (alibi) number("alibi_bias_max", alibi->max_bias, 0, 1e3);
  require(clip_qkv >= 0 && clip_qkv <= 1e6, "clip_qkv", "between 0 and 1000000", clip_qkv);
  for (const auto& [field, value] :
       {std::pair{"attn_logit_softcapping", score_cap}, {"final_logit_softcapping", logit_cap}})
    require(value >= 0 && value <= 1e6, field, "between 0 and 1000000", value);
  if (score_scale) number("the scale of attention's scores", *score_scale, 0, 1e6);
  for (const auto& [field, value] : {std::pair{"the scale of embeddings", embedding_scale},
                                     {"residual_multiplier", residual_scale},
                                     {"the scale of logits", logit_scale}})
    number(field, value, 0, 1e6);
  const std::string ids = fmt::format("an id of the vocabulary, between 0 and {}", vocab_size - 1);
  if (bos_token_id)
    require(*bos_token_id >= 0 && *bos_token_id < vocab_size, "bos_token_id", ids, *bos_token_id);
  for (const int64_t id : eos_token_ids) require(id >= 0 && id < vocab_size, "eos_token_id", ids, id);
}

DecoderConfig read_config_json(const std::string& path) {
  const TextConfiguration text = text_configuration(read_json(path), fmt::format("'{}'", path));
  const JsonFields fields(text.json, fmt::format("'{}'", path));
  DecoderConfig config;
  config.part_of = text.around;
  config.model_type = fields.text("model_type", "llama");
  const ReadFamily read = find_family(config.model_type);
  WEFT_CHECK(read != nullptr, fmt::format("'{}': architecture '{}' is not supported; weft has {}{}", path,
                                          printable(config.model_type), fmt::join(model_types(), ", "),
                                          did_you_mean(config.model_type, model_types())));
  read(fields, config);
  if (const auto bos = fields.token_ids("bos_token_id"); !bos.empty()) config.bos_token_id = bos[0];
  config.eos_token_ids = fields.token_ids("eos_token_id");
  if (fields.boolean("rope_interleaved", false)) config.ropes[0].interleaved = true;
  const char* const dtype_key = fields.has("torch_dtype") ? "torch_dtype" : "dtype";
  config.torch_dtype = fields.text(dtype_key, "float32");
  const std::vector<std::string> dtypes = {"float32", "bfloat16", "float16", "float64"};
  WEFT_CHECK(std::find(dtypes.begin(), dtypes.end(), config.torch_dtype) != dtypes.end(),
             fmt::format("'{}': {} must be {}, got '{}'{}", path, dtype_key, fmt::join(dtypes, ", "),
                         printable(config.torch_dtype), did_you_mean(config.torch_dtype, dtypes)));
  fields.pass_over("dtype");                                   // torch_dtype goes before it
  fields.pass_over("quantization_config");                     // Checkpoint::open reads it
  QuantizationScheme::parse(fields.text("quantization", ""));  // the weights' file says it as well
  fields.check_all_understood(irrelevant_config_keys());
  config.check(fmt::format("'{}'", path));
  return config;
}

void read_generation_config(const std::string& path, DecoderConfig& config) {
  const Json json = read_json(path);
  const JsonFields fields(json, fmt::format("'{}'", path));
  for (const int64_t id : fields.token_ids("eos_token_id"))
    if (std::find(config.eos_token_ids.begin(), config.eos_token_ids.end(), id) == config.eos_token_ids.end())
      config.eos_token_ids.push_back(id);
  fields.check_all_understood(irrelevant_generation_keys());
  config.check(fmt::format("'{}'", path));
}

DecoderConfig read_params_json(const std::string& path) {
  const Json json = read_json(path);
  const JsonFields fields(json, fmt::format("'{}'", path));
  DecoderConfig config;
  config.ropes[0].interleaved = true;
  config.hidden_size = fields.integer("dim");
  config.num_layers = fields.integer("n_layers");
  config.num_heads = fields.integer("n_heads");
  config.num_kv_heads = fields.integer("n_kv_heads", config.num_heads);
  config.vocab_size = fields.integer("vocab_size", -1);
  config.norm_eps = fields.real("norm_eps", 1e-5);
  config.ropes[0].theta = fields.real("rope_theta", 10000.0);
  config.max_position_embeddings = fields.integer("max_seq_len", 2048);
  WEFT_CHECK(config.num_heads > 0 && config.hidden_size > 0 && config.hidden_size < (1 << 24),
             fmt::format("'{}': dim and n_heads must be positive, got {} and {}", path, config.hidden_size,
                         config.num_heads));
  WEFT_CHECK(config.hidden_size % config.num_heads == 0,
             fmt::format("'{}': dim {} is not a multiple of n_heads {}", path, config.hidden_size,
                         config.num_heads));
  config.head_dim = config.hidden_size / config.num_heads;
  const int64_t multiple = fields.integer("multiple_of", 256);
  WEFT_CHECK(multiple > 0 && multiple <= (1 << 24),
             fmt::format("'{}': multiple_of must be between 1 and {}, got {}", path, 1 << 24, multiple));
  // source: Meta's FeedForward, hidden = multiple_of * ceil(int(ffn_dim_multiplier * int(2 * 4 dim / 3)) /
  // multiple_of).
  int64_t hidden = 2 * (4 * config.hidden_size) / 3;
  if (fields.has("ffn_dim_multiplier")) {
    const double multiplier = fields.real("ffn_dim_multiplier");
    WEFT_CHECK(
        multiplier > 0 && multiplier <= 1000,
        fmt::format("'{}': ffn_dim_multiplier must be above 0 and at most 1000, got {}", path, multiplier));
    hidden = static_cast<int64_t>(multiplier * static_cast<double>(hidden));
  }
  config.intermediate_size = fields.integer("hidden_dim", multiple * ((hidden + multiple - 1) / multiple));
  if (fields.boolean("use_scaled_rope", false)) {
    config.ropes[0].scaling = RopeScaling::Llama3;
    config.ropes[0].factor = fields.real("rope_scaling_factor", 8.0);
  }
  fields.check_all_understood(irrelevant_params_keys());
  return config;
}

namespace {

// vocabulary, hidden, intermediate, layers, heads, key-value heads, head dimension, positions, theta
struct Row {
  int64_t vocab, hidden, intermediate, layers, heads, kv_heads, head_dim, positions;
  double theta;
  const char* type;
};
// source: the models' published config.json.
const std::map<std::string, Row>& shapes() {
  static const auto& rows = *new std::map<std::string, Row>{
      {"tiny", {512, 64, 172, 5, 8, 4, 8, 512, 1e4, "llama"}},
      {"llama-1b", {128256, 2048, 8192, 16, 32, 8, 64, 131072, 5e5, "llama"}},
      {"llama-3b", {128256, 3072, 8192, 28, 24, 8, 128, 131072, 5e5, "llama"}},
      {"llama-7b", {32000, 4096, 11008, 32, 32, 32, 128, 4096, 1e4, "llama"}},
      {"llama-13b", {32000, 5120, 13824, 40, 40, 40, 128, 4096, 1e4, "llama"}},
      {"llama3-8b", {128256, 4096, 14336, 32, 32, 8, 128, 8192, 5e5, "llama"}},
      {"mistral-7b", {32000, 4096, 14336, 32, 32, 8, 128, 32768, 1e4, "mistral"}},
      {"qwen2-0.5b", {151936, 896, 4864, 24, 14, 2, 64, 32768, 1e6, "qwen2"}},
  };
  return rows;
}

}  // namespace

std::vector<std::string> config_names() {
  std::vector<std::string> names;
  for (const auto& row : shapes()) names.push_back(row.first);
  return names;
}

DecoderConfig named_config(const std::string& name) {
  const auto found = shapes().find(name);
  if (found == shapes().end())
    throw_error(ErrorKind::Value,
                fmt::format("unknown model shape '{}'; the shapes are {}{}", printable(name),
                            fmt::join(config_names(), ", "), did_you_mean(name, config_names())));
  const Row& row = found->second;
  DecoderConfig config;
  config.model_type = row.type;
  config.vocab_size = row.vocab;
  config.hidden_size = row.hidden;
  config.intermediate_size = row.intermediate;
  config.num_layers = row.layers;
  config.num_heads = row.heads;
  config.num_kv_heads = row.kv_heads;
  config.head_dim = row.head_dim;
  config.max_position_embeddings = row.positions;
  config.ropes[0].theta = row.theta;
  config.qkv_bias = config.model_type == "qwen2";
  config.tie_word_embeddings =
      name == "llama-1b" || name == "llama-3b" || name == "qwen2-0.5b" || name == "tiny";
  if (name == "mistral-7b") config.layers.assign(static_cast<size_t>(row.layers), {.window = 4096});
  config.check();
  return config;
}

}  // namespace weft::models
