// Arcee, Helium, CWM, Seed-OSS, InternLM 3, Ministral 3, EXAONE 4, HunYuan: Llama with little besides.
// source: ArceeConfig, HeliumConfig, CwmConfig, SeedOssConfig, InternLM3Config, Ministral3Config,
// Exaone4Config and HunYuanDenseV1Config of transformers.
#include <fmt/format.h>

#include <cmath>

#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {
namespace {

void read_arcee(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.norm_eps = 1e-5, .activation = "relu2"});
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  config.mlp_bias = fields.boolean("mlp_bias", false);
  set_plain_mlp(config, "mlp.up_proj", "mlp.down_proj");
}

void read_helium(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.norm_eps = 1e-8, .theta = 100000.0});
  if (fields.is_absent("head_dim")) config.head_dim = 128;
  config.ropes[0].interleaved = true;
  config.qkv_bias = fields.boolean("attention_bias", false);
  config.mlp_bias = fields.boolean("mlp_bias", false);
}

// One layer of four sees all positions.
void read_cwm(const JsonFields& fields, DecoderConfig& config) {
  config.ropes[0].original_positions = 8192;
  read_llama_parts(fields, config, {.norm_eps = 1e-5, .theta = 1e6});
  if (!fields.has("rope_parameters") && !fields.has("rope_scaling")) {
    Rope& rope = config.ropes[0];
    rope.scaling = RopeScaling::Llama3, rope.factor = 16, rope.original_positions = 8192;
  }
  expect(fields, "mlp_bias", "false", "a cwm model has no biases");
  expect(fields, "attention_bias", "false", "a cwm model has no biases");
  const std::vector<std::string> types = read_layer_types(fields, config);
  const int64_t window = fields.integer("sliding_window", 8192);
  for (size_t i = 0; i < config.layers.size(); ++i)
    if (types.empty() ? i % 4 != 0 : types[i] == "sliding_attention") config.layers[i].window = window;
}

void read_seed_oss(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config);
  if (fields.is_absent("head_dim")) config.head_dim = 128;
  config.qkv_bias = fields.boolean("attention_bias", true);
  config.output_bias = fields.boolean("attention_out_bias", false);
  config.mlp_bias = fields.boolean("mlp_bias", false);
}

// Its first files call the biases otherwise.
void read_internlm3(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.norm_eps = 1e-5});
  const bool of_qkv = fields.boolean("attention_bias", fields.boolean("qkv_bias", false)),
             of_others = fields.boolean("mlp_bias", fields.boolean("bias", false));
  WEFT_CHECK(of_qkv == of_others,
             fmt::format("{}: qkv_bias is {} and bias {}: an internlm3 model has all biases "
                         "or none",
                         fields.where(), of_qkv, of_others));
  config.qkv_bias = config.output_bias = config.mlp_bias = of_qkv;
}

// Queries grow with the position.
void read_ministral3(const JsonFields& fields, DecoderConfig& config) {
  static constexpr const char* kOwn[] = {"llama_4_scaling_beta", "max_position_embeddings"};
  read_llama_parts(fields, config, {.norm_eps = 1e-5, .theta = 1e6, .own = kOwn});
  if (fields.has("rope_parameters")) {
    const JsonFields rope(fields.get("rope_parameters"), fields.where() + ": rope_parameters");
    config.temperature = rope.real("llama_4_scaling_beta", 0.0);
    config.temperature_positions =
        rope.integer("original_max_position_embeddings", config.max_position_embeddings);
  }
  config.temperature_from = 0;
  for (LayerKind& layer : config.layers) {
    layer.has_temperature = config.temperature != 0;
    if (fields.has("sliding_window")) layer.window = fields.integer("sliding_window");
  }
}

// Norms behind attention and the MLP; of layers with and without a window, only those with one turn.
void read_exaone4(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.norm_eps = 1e-5});
  config.head_norm = HeadNorm::Shared;
  set_norms_behind(config.names);
  const std::vector<std::string> types = read_layer_types(fields, config);
  const bool has_pattern = fields.has("sliding_window") || fields.is_absent("sliding_window");
  int64_t pattern = 4;
  if (types.empty() && has_pattern) pattern = fields.integer("sliding_window_pattern", pattern);
  fields.pass_over("sliding_window_pattern");
  WEFT_CHECK(pattern > 0,
             fmt::format("{}: sliding_window_pattern must be positive, got {}", fields.where(), pattern));
  if (!has_pattern) return;
  set_windows_that_turn(config, types, pattern, fields.integer("sliding_window", 4096));
}

// Norms of heads that have turned; dynamic frequencies may have another base in place of their growth.
void read_hunyuan(const JsonFields& fields, DecoderConfig& config) {
  static constexpr const char* kOwn[] = {"alpha", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"};
  read_llama_parts(fields, config, {.norm_eps = 1e-5, .own = kOwn});
  Rope& rope = config.ropes[0];
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!fields.has(key)) continue;
    const JsonFields scaling(fields.get(key), fmt::format("{}: {}", fields.where(), key));
    const double alpha = scaling.has("alpha") ? scaling.real("alpha") : 0;
    const auto dim = static_cast<double>(config.head_dim);
    const bool is_dynamic = scaling.text("rope_type", scaling.text("type", "")) == "dynamic";
    if (is_dynamic && alpha > 0 && config.head_dim > 2) rope.theta *= std::pow(alpha, dim / (dim - 2));
  }
  WEFT_CHECK(rope.attention_factor == 1,
             fmt::format("{}: heads that become longer as they turn, by {}, are not supported in this family",
                         fields.where(), rope.attention_factor));
  config.head_norm = HeadNorm::Shared;
  config.head_norm_follows_rope = true;
  config.names.query_norm = "self_attn.query_layernorm", config.names.key_norm = "self_attn.key_layernorm";
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  expect(fields, "mlp_bias", "false", "the MLP of this family has no biases");
  expect(fields, "use_qk_norm", "true", "this family has norms of heads");
  expect(fields, "use_cla", "false", "each layer of this family has keys and values of its own");
  expect(fields, "use_rotary_pos_emb", "true", "positions of this family turn");
  expect(fields, "norm_type", "\"rms\"", "this family has such norms");
  expect(fields, "add_classification_head", "false", "weft's models write text");
  expect(fields, "attention_head_dim", std::to_string(config.head_dim).c_str(), "head_dim says it");
  for (const char* key : {"cla_share_factor", "class_num", "dense_list", "enable_lm_head_fp32",
                          "eod_token_id", "im_end_id", "im_newline_id", "im_start_id", "mask_init_id",
                          "org_vocab_size", "pad_id", "pool_type", "text_end_id", "text_start_id"})
    fields.pass_over(key);
}

[[maybe_unused]] const bool kLlamaRelatives =
    register_family("arcee", read_arcee) && register_family("helium", read_helium) &&
    register_family("cwm", read_cwm) && register_family("seed_oss", read_seed_oss) &&
    register_family("internlm3", read_internlm3) && register_family("ministral3", read_ministral3) &&
    register_family("exaone4", read_exaone4) && register_family("hunyuan_v1_dense", read_hunyuan);

}  // namespace
}  // namespace weft::models
