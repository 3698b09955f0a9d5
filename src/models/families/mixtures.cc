// Mixtures of experts: Mixtral, Phi 3.5 MoE, MiniMax M2 and gpt-oss. source: MixtralConfig, PhimoeConfig,
// MiniMaxM2Config and GptOssConfig of transformers.
#include <fmt/format.h>

#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {
namespace {

void set_mixtral_names(TensorNames& names) {
  names.router = "block_sparse_moe.gate";
  names.expert_gate = {.name = "block_sparse_moe.experts.{}.w1"};
  names.expert_up = {.name = "block_sparse_moe.experts.{}.w3"};
  names.expert_down = {.name = "block_sparse_moe.experts.{}.w2"};
}

void read_mixtral(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.norm_eps = 1e-5, .theta = 1e6});
  read_experts(fields, config, "num_local_experts");
  config.experts->is_normalized = true;
  if (fields.has("sliding_window"))
    for (LayerKind& layer : config.layers) layer.window = fields.integer("sliding_window");
  set_mixtral_names(config.names);
}

// Mixtral's tensors with Phi's norms; cosines and sines of long texts have a factor of their own.
void read_phimoe(const JsonFields& fields, DecoderConfig& config) {
  static constexpr const char* kOwn[] = {"short_mscale", "long_mscale"};
  read_llama_parts(fields, config, {.norm_eps = 1e-5, .theta = 1e6, .own = kOwn});
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!fields.has(key)) continue;
    const JsonFields scaling(fields.get(key), fmt::format("{}: {}", fields.where(), key));
    Rope& rope = config.ropes[0];
    rope.long_attention_factor = scaling.real("long_mscale", rope.attention_factor);
    rope.attention_factor = scaling.real("short_mscale", rope.attention_factor);
  }
  config.norm = NormKind::Layer;
  config.norm_bias = true;
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  config.head_bias = fields.boolean("lm_head_bias", false);
  read_experts(fields, config, "num_local_experts");
  config.experts->scores = RouterScores::SparseMixer;
  config.experts->jitter = fields.real("router_jitter_noise", 0.01);
  expect(fields, "num_experts_per_tok", "2", "experts of this family are chosen in pairs");
  expect(fields, "norm_topk_prob", "false", "weights of this family's experts are as they are");
  fields.pass_over("input_jitter_noise");
  if (fields.has("sliding_window"))
    for (LayerKind& layer : config.layers) layer.window = fields.integer("sliding_window");
  set_mixtral_names(config.names);
}

// Mixtral's tensors, chosen by corrected sigmoids, with norms over all heads.
void read_minimax_m2(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  read_activation(fields, config);
  std::optional<double> share = 1.0;
  if (fields.has("rotary_dim") && config.head_dim > 0)
    share = static_cast<double>(fields.integer("rotary_dim")) / static_cast<double>(config.head_dim);
  read_rope(fields, config, 5e6, share);
  read_tied(fields, config, false);
  config.head_norm = HeadNorm::Whole;
  read_experts(fields, config, "num_local_experts");
  Experts& experts = *config.experts;
  experts.intermediate_size = config.intermediate_size;
  experts.scores = RouterScores::Sigmoid;
  experts.is_normalized = experts.has_correction = true;
  experts.least_sum = 0;
  expect(fields, "scoring_func", "\"sigmoid\"", "experts of this family are chosen so");
  expect(fields, "use_qk_norm", "true", "this family has norms of heads");
  expect(fields, "qk_norm_type", "\"per_layer\"", "this family's norms are over all heads");
  expect(fields, "use_routing_bias", "true", "experts of this family are chosen so");
  expect(fields, "shared_intermediate_size", "0", "this family has no shared experts");
  fields.pass_over("shared_moe_mode");
  if (fields.has("attn_type_list"))
    for (const int64_t type : fields.integers("attn_type_list"))
      WEFT_CHECK(type == 1,
                 fmt::format("{}: attn_type_list has {}; weft has 1 in this family", fields.where(), type));
  for (const char* key : {"use_mtp", "num_mtp_modules", "mtp_transformer_layers"}) fields.pass_over(key);
  set_mixtral_names(config.names);
  config.names.correction = "block_sparse_moe.e_score_correction_bias";
}

// The experts' gates and their other halves take turns in one tensor.
void read_gpt_oss(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("rms_norm_eps", 1e-5);
  expect(fields, "hidden_act", "\"silu\"", "a gpt_oss model has its own gate");
  config.activation = MlpActivation::ClampedSilu;
  config.activation_limit = fields.real("swiglu_limit", 7.0);
  expect(fields, "swiglu_alpha", "1.702", "a gpt_oss model's gate has this slope");
  config.ropes[0] = {.original_positions = 4096, .truncates = false};
  read_rope(fields, config, 150000.0);
  read_tied(fields, config, false);
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", true);
  config.has_sinks = true;
  if (fields.is_absent("layer_types")) {
    for (size_t i = 0; i < config.layers.size(); i += 2)
      config.layers[i].window = fields.integer("sliding_window", 128);
  } else {
    read_windows_by_type(fields, config, read_layer_types(fields, config));
  }
  for (const char* key : {"experts_per_token", "initial_context_length"}) fields.pass_over(key);
  read_experts(fields, config, "num_local_experts");
  Experts& experts = *config.experts;
  experts.scores = RouterScores::SoftmaxOfChosen;
  experts.has_router_bias = experts.has_bias = true;
  TensorNames& names = config.names;
  names.router = "mlp.router";
  names.expert_gate = {.name = "mlp.experts.gate_up_proj",
                       .first = 0,
                       .block = 1,
                       .period = 2,
                       .rows = 2 * experts.intermediate_size,
                       .is_transposed = true,
                       .is_bare = true,
                       .bias = "mlp.experts.gate_up_proj_bias",
                       .count = experts.count};
  names.expert_up = names.expert_gate;
  names.expert_up.first = 1;
  names.expert_down = {.name = "mlp.experts.down_proj",
                       .is_transposed = true,
                       .is_bare = true,
                       .bias = "mlp.experts.down_proj_bias",
                       .count = experts.count};
}

[[maybe_unused]] const bool kMixtures =
    register_family("mixtral", read_mixtral) && register_family("phimoe", read_phimoe) &&
    register_family("minimax_m2", read_minimax_m2) && register_family("gpt_oss", read_gpt_oss);

}  // namespace
}  // namespace weft::models
