// LFM2: short convolutions in place of some layers' attention. source: Lfm2Config and Lfm2MoeConfig of
// transformers.
#include <fmt/format.h>

#include <algorithm>

#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {
namespace {

// source: Lfm2MLP; the layer between is two thirds of what the file says, rounded up.
int64_t adjusted_size(const JsonFields& fields, int64_t size) {
  const bool is_adjusted = fields.boolean("block_auto_adjust_ff_dim", true);
  const double by = fields.real("block_ffn_dim_multiplier", 1.0);
  const int64_t multiple = fields.integer("block_multiple_of", 256);
  WEFT_CHECK(multiple > 0 && by > 0,
             fmt::format("{}: block_multiple_of and block_ffn_dim_multiplier must be positive, got {} and {}",
                         fields.where(), multiple, by));
  if (!is_adjusted) return size;
  const auto scaled = static_cast<int64_t>(by * static_cast<double>(2 * size / 3));
  return (scaled + multiple - 1) / multiple * multiple;
}

void read_lfm2_parts(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("norm_eps", 1e-5);
  fields.pass_over("rms_norm_eps");
  read_rope(fields, config, fields.real("theta", 1e6));
  read_tied(fields, config, fields.boolean("tie_embedding", true));
  config.head_norm = HeadNorm::Shared;
  config.convolution_size = fields.integer("conv_L_cache", 3);
  config.convolution_bias = fields.boolean("conv_bias", false);
  std::vector<int64_t> full;
  if (fields.has("full_attn_idxs")) full = fields.integers("full_attn_idxs");
  const std::vector<std::string> types = read_layer_types(fields, config, {"full_attention", "conv"});
  for (size_t i = 0; i < config.layers.size(); ++i)
    config.layers[i].is_convolution =
        !types.empty() ? types[i] == "conv"
                       : fields.has("full_attn_idxs") &&
                             std::find(full.begin(), full.end(), static_cast<int64_t>(i)) == full.end();
  TensorNames& names = config.names;
  names.final_norm = "model.embedding_norm";
  names.attention_norm = "operator_norm", names.mlp_norm = "ffn_norm";
  names.query_norm = "self_attn.q_layernorm", names.key_norm = "self_attn.k_layernorm";
  names.output = {.name = "self_attn.out_proj"};
  names.gate = {.name = "feed_forward.w1"}, names.up = {.name = "feed_forward.w3"};
  names.down = {.name = "feed_forward.w2"};
}

void read_lfm2(const JsonFields& fields, DecoderConfig& config) {
  read_lfm2_parts(fields, config);
  config.intermediate_size = adjusted_size(
      fields, fields.has("block_ff_dim") ? fields.integer("block_ff_dim") : config.intermediate_size);
  static constexpr IrrelevantKey kOfHub[] = {{"block_use_swiglu", "weft has no other MLP here", "true"},
                                             {"use_pos_enc", "positions of this family turn", "true"}};
  for (const IrrelevantKey& key : kOfHub)
    if (fields.has(key.name)) fields.check_value(key);
  for (const char* key :
       {"block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale",
        "block_use_xavier_init", "conv_dim", "conv_dim_out", "conv_use_xavier_init", "num_heads"})
    fields.pass_over(key);
}

// All layers but the first ones have experts.
void read_lfm2_moe(const JsonFields& fields, DecoderConfig& config) {
  read_lfm2_parts(fields, config);
  read_experts(fields, config, "num_experts");
  Experts& experts = *config.experts;
  experts.scores = RouterScores::Sigmoid;
  experts.is_normalized = fields.boolean("norm_topk_prob", true);
  experts.has_correction = fields.boolean("use_expert_bias", true);
  experts.scale = fields.real("routed_scaling_factor", 1.0);
  experts.least_sum = 1e-6;
  const int64_t dense = fields.integer("num_dense_layers", 2);
  for (size_t i = 0; i < config.layers.size(); ++i)
    config.layers[i].has_experts = static_cast<int64_t>(i) >= dense;
  TensorNames& names = config.names;
  names.router = "feed_forward.gate", names.correction = "feed_forward.expert_bias";
  names.expert_gate = {.name = "feed_forward.experts.{}.w1"};
  names.expert_up = {.name = "feed_forward.experts.{}.w3"};
  names.expert_down = {.name = "feed_forward.experts.{}.w2"};
}

[[maybe_unused]] const bool kLfm2 =
    register_family("lfm2", read_lfm2) && register_family("lfm2_moe", read_lfm2_moe);

}  // namespace
}  // namespace weft::models
