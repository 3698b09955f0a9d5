// Granite, SmolLM3, Ernie 4.5: Llama with something besides. source: GraniteConfig, GraniteMoeConfig,
// GraniteMoeSharedConfig, SmolLM3Config, Ernie4_5Config and Ernie4_5_MoeConfig of transformers.
#include <fmt/format.h>

#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {
namespace {

void read_granite(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config);
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  config.mlp_bias = fields.boolean("mlp_bias", false);
  config.embedding_scale = fields.real("embedding_multiplier", 1.0);
  config.residual_scale = fields.real("residual_multiplier", 1.0);
  config.score_scale = fields.real("attention_multiplier", 1.0);
  const double divisor = fields.real("logits_scaling", 1.0);
  WEFT_CHECK(divisor > 0,
             fmt::format("{}: logits_scaling must be positive, got {}", fields.where(), divisor));
  config.logit_scale = 1 / divisor;
}

// An expert's two matrices lie one behind the other.
void read_granitemoe(const JsonFields& fields, DecoderConfig& config) {
  read_granite(fields, config);
  read_experts(fields, config, "num_local_experts");
  Experts& experts = *config.experts;
  experts.intermediate_size = config.intermediate_size;
  experts.scores = RouterScores::SoftmaxOfChosen;
  TensorNames& names = config.names;
  names.router = "block_sparse_moe.router.layer";
  const auto halves =
      stacked("block_sparse_moe.input_linear", {experts.intermediate_size, experts.intermediate_size});
  names.expert_gate = halves[0], names.expert_up = halves[1];
  names.expert_down = {.name = "block_sparse_moe.output_linear"};
  for (MatrixName* matrix : {&names.expert_gate, &names.expert_up, &names.expert_down})
    matrix->count = experts.count;
}

void read_granitemoeshared(const JsonFields& fields, DecoderConfig& config) {
  read_granitemoe(fields, config);
  const int64_t size = config.experts->shared_size = fields.integer("shared_intermediate_size", 0);
  const auto halves = stacked("shared_mlp.input_linear", {size, size});
  config.names.shared_gate = halves[0], config.names.shared_up = halves[1];
  config.names.shared_down = {.name = "shared_mlp.output_linear"};
}

// source: ApertusConfig of transformers.
void read_apertus(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("rms_norm_eps", 1e-5);
  expect(fields, "hidden_act", "\"xielu\"", "weft has no other activation in this family");
  config.activation = MlpActivation::Xielu;
  read_rope(fields, config, 12000000.0);
  read_tied(fields, config, false);
  config.head_norm = HeadNorm::Shared;
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  TensorNames& names = config.names;
  names.attention_norm = "attention_layernorm", names.mlp_norm = "feedforward_layernorm";
  set_plain_mlp(config, "mlp.up_proj", "mlp.down_proj");
  names.activation = "mlp.act_fn";
  names.unread = {"mlp.act_fn.beta", "mlp.act_fn.eps"};  // a half and -1e-6, in every file
}

// Some layers' positions do not turn: those for which no_rope_layers has 0.
void read_smollm3(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.theta = 2000000.0, .is_tied = true});
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  config.mlp_bias = fields.boolean("mlp_bias", false);
  const int64_t interval = fields.integer("no_rope_layer_interval", 4);
  WEFT_CHECK(interval > 0,
             fmt::format("{}: no_rope_layer_interval must be positive, got {}", fields.where(), interval));
  std::vector<int64_t> turns;
  if (fields.has("no_rope_layers")) turns = fields.integers("no_rope_layers");
  WEFT_CHECK(turns.empty() || static_cast<int64_t>(turns.size()) == config.num_layers,
             fmt::format("{}: no_rope_layers has {} entries, num_hidden_layers is {}", fields.where(),
                         turns.size(), config.num_layers));
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const bool does_turn = turns.empty() ? (static_cast<int64_t>(i) + 1) % interval != 0 : turns[i] != 0;
    if (!does_turn) config.layers[i].rope.reset();
  }
  const bool has_windows = fields.boolean("use_sliding_window", false) && fields.has("sliding_window");
  fields.pass_over("sliding_window");
  fields.pass_over("max_window_layers");
  if (fields.has("layer_types")) {
    read_windows_by_type(fields, config, read_layer_types(fields, config));
    return;
  }
  for (LayerKind& layer : config.layers)
    if (has_windows && !layer.rope) layer.window = fields.integer("sliding_window");
}

void read_ernie(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.norm_eps = 1e-5, .theta = 500000.0, .is_tied = true});
  config.ropes[0].interleaved = true;
  config.qkv_bias = config.output_bias = config.mlp_bias = fields.boolean("use_bias", false);
}

void read_ernie_moe(const JsonFields& fields, DecoderConfig& config) {
  read_ernie(fields, config);
  Experts experts;
  experts.count = fields.integer("moe_num_experts", 64), experts.chosen = fields.integer("moe_k", 6);
  experts.intermediate_size = fields.integer("moe_intermediate_size", 1536);
  experts.shared_size = fields.integer("moe_num_shared_experts", 2) * experts.intermediate_size;
  experts.is_normalized = experts.has_correction = true;
  experts.least_sum = 0;
  const double least = fields.real("moe_norm_min", 1e-12);
  WEFT_CHECK(least >= 0 && least <= 1e-6,
             fmt::format("{}: moe_norm_min {} is not supported: weft does not bound the sum of the weights",
                         fields.where(), least));
  config.experts = experts;
  const int64_t first = fields.integer("moe_layer_start_index", 1),
                last = fields.integer("moe_layer_end_index", -1),
                step = fields.integer("moe_layer_interval", 1);
  WEFT_CHECK(step > 0, fmt::format("{}: moe_layer_interval must be positive, got {}", fields.where(), step));
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    config.layers[i].has_experts = (layer + 1) % step == 0 && layer >= first && (last == -1 || layer <= last);
  }
  for (const char* key : {"output_router_logits", "router_aux_loss_coef", "moe_capacity", "moe_gate",
                          "moe_use_aux_free", "num_nextn_predict_layers"})
    fields.pass_over(key);
  config.names.correction = "mlp.moe_statics.e_score_correction_bias";
  config.names.correction_is_row = true;
}

[[maybe_unused]] const bool kLlamaDescendants =
    register_family("apertus", read_apertus) && register_family("granite", read_granite) &&
    register_family("granitemoe", read_granitemoe) &&
    register_family("granitemoeshared", read_granitemoeshared) && register_family("smollm3", read_smollm3) &&
    register_family("ernie4_5", read_ernie) && register_family("ernie4_5_moe", read_ernie_moe);

}  // namespace
}  // namespace weft::models
