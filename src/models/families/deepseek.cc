// DeepSeek V2 and V3, and those that choose experts as V3 does: Dots 1, GLM 4.5. source: DeepseekV2Config,
// DeepseekV3Config, Dots1Config and Glm4MoeConfig of transformers.
#include <algorithm>
#include <cmath>

#include "models/families/family.h"

namespace weft::models {
namespace {

void read_latent(const JsonFields& fields, DecoderConfig& config) {
  LatentAttention latent;
  latent.query_rank = fields.integer("q_lora_rank", 0);
  latent.rank = fields.integer("kv_lora_rank");
  latent.plain_dim = fields.integer("qk_nope_head_dim");
  latent.rope_dim = fields.integer("qk_rope_head_dim");
  latent.value_dim = fields.integer("v_head_dim");
  for (const char* key : {"head_dim", "qk_head_dim"}) fields.pass_over(key);
  config.latent = latent;
  config.head_dim = latent.plain_dim + latent.rope_dim;
  config.num_kv_heads = config.num_heads;
  config.ropes[0].dim = latent.rope_dim;
}

// What a file says where it does not.
struct RoutedDefaults {
  int64_t dense = 0, groups = 1, chosen_groups = 1;
  double scale = 1.0;
  bool is_normalized = false;
};

// Every layer has experts but for the first ones, and experts of which every token has one.
void read_routed(const JsonFields& fields, DecoderConfig& config, const RoutedDefaults& defaults) {
  read_experts(fields, config, "n_routed_experts");
  Experts& experts = *config.experts;
  experts.is_normalized = fields.boolean("norm_topk_prob", defaults.is_normalized);
  experts.scale = fields.real("routed_scaling_factor", defaults.scale);
  experts.groups = fields.integer("n_group", defaults.groups);
  experts.chosen_groups = fields.integer("topk_group", defaults.chosen_groups);
  experts.shared_size = fields.integer("n_shared_experts", 1) * experts.intermediate_size;
  const int64_t dense = fields.integer("first_k_dense_replace", defaults.dense);
  for (int64_t i = 0; i < std::min(dense, static_cast<int64_t>(config.layers.size())); ++i)
    config.layers[static_cast<size_t>(i)].has_experts = false;
  expect(fields, "moe_layer_freq", "1", "weft has experts in every layer behind the first");
  for (const char* key : {"ep_size", "aux_loss_alpha", "seq_aux"}) fields.pass_over(key);
  config.unread_layers = fields.integer("num_nextn_predict_layers", fields.integer("num_mtp_layers", 0));
}

// source: DeepseekV3TopkRouter of transformers.
void choose_by_corrected_sigmoids(const JsonFields& fields, DecoderConfig& config) {
  config.experts->scores = RouterScores::Sigmoid;
  config.experts->has_correction = true;
  expect(fields, "scoring_func", "\"sigmoid\"", "experts of this family are chosen so");
  expect(fields, "topk_method", "\"noaux_tc\"", "experts of this family are chosen so");
}

void read_latent_parts(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  read_activation(fields, config);
  read_latent(fields, config);
  read_rope(fields, config);
  read_tied(fields, config, false);
  expect(fields, "attention_bias", "false", "weft has no biases in latent attention");
  config.ropes[0].interleaved = true;
  double scale = 1 / std::sqrt(static_cast<double>(config.head_dim));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (config.ropes[0].scaling != RopeScaling::Yarn || !fields.has(key)) continue;
    const JsonFields rope(fields.get(key), key);
    const double of_all = 0.1 * rope.real("mscale_all_dim", 0.0) * std::log(config.ropes[0].factor) + 1;
    scale *= of_all * of_all;
  }
  config.score_scale = scale;
}

void read_deepseek_v2(const JsonFields& fields, DecoderConfig& config) {
  read_latent_parts(fields, config);
  expect(fields, "mlp_bias", "false", "weft has no biases in this family's MLP");
  read_routed(fields, config, {});
  expect(fields, "norm_topk_prob", "false", "this family does not normalize the weights of the chosen");
  expect(fields, "scoring_func", "\"softmax\"", "experts of this family are chosen so");
  expect(fields, "topk_method", "\"greedy\" \"group_limited_greedy\"",
         "experts of this family are chosen so");
  Experts& experts = *config.experts;
  experts.group_best = 1;
  if (fields.text("topk_method", "greedy") == "greedy") experts.groups = experts.chosen_groups = 1;
}

void read_deepseek_v3(const JsonFields& fields, DecoderConfig& config) {
  read_latent_parts(fields, config);
  config.ropes[0].interleaved = fields.boolean("rope_interleave", true);
  read_routed(fields, config,
              {.dense = 3, .groups = 8, .chosen_groups = 4, .scale = 2.5, .is_normalized = true});
  choose_by_corrected_sigmoids(fields, config);
}

void read_dots1(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config);
  config.head_norm = HeadNorm::Shared;
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  read_windows_by_type(fields, config, read_layer_types(fields, config));
  fields.pass_over("max_window_layers");
  read_routed(fields, config, {});
  choose_by_corrected_sigmoids(fields, config);
}

void read_glm4_moe(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.norm_eps = 1e-5, .share = 0.5});
  if (fields.boolean("use_qk_norm", false)) config.head_norm = HeadNorm::Shared;
  config.qkv_bias = fields.boolean("attention_bias", false);
  read_routed(fields, config, {.dense = 1, .is_normalized = true});
  choose_by_corrected_sigmoids(fields, config);
}

[[maybe_unused]] const bool kDeepseekFamilies =
    register_family("deepseek_v2", read_deepseek_v2) && register_family("deepseek_v3", read_deepseek_v3) &&
    register_family("dots1", read_dots1) && register_family("glm4_moe", read_glm4_moe);

}  // namespace
}  // namespace weft::models
