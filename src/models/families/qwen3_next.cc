// Qwen3-Next and Qwen3.5: gated delta rules in most layers, gated attention in the others. source:
// Qwen3NextConfig, Qwen3_5TextConfig and Qwen3_5MoeTextConfig of transformers.
#include <fmt/format.h>

#include <algorithm>

#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {
namespace {

void read_kinds(const JsonFields& fields, DecoderConfig& config) {
  const int64_t interval = fields.integer("full_attention_interval", 4);
  WEFT_CHECK(interval > 0,
             fmt::format("{}: full_attention_interval must be positive, got {}", fields.where(), interval));
  const std::vector<std::string> types =
      read_layer_types(fields, config, {"full_attention", "linear_attention"});
  for (size_t i = 0; i < config.layers.size(); ++i) {
    LayerKind& layer = config.layers[i];
    layer.is_delta =
        types.empty() ? (static_cast<int64_t>(i) + 1) % interval != 0 : types[i] == "linear_attention";
    if (layer.is_delta) layer.rope.reset();
  }
}

void read_parts(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.share = 0.25, .own = kPlaces});
  expect(fields, "hidden_act", "\"silu\"", "delta rules of this family are activated so");
  expect(fields, "attention_bias", "false", "weft has no biases beside gates of attention");
  read_kinds(fields, config);
  config.norm_offset = 1;
  config.head_norm = HeadNorm::Shared;
  config.gates_attention = true;
  DeltaRule rule;
  rule.key_heads = fields.integer("linear_num_key_heads", 16);
  rule.value_heads = fields.integer("linear_num_value_heads", 32);
  rule.key_dim = fields.integer("linear_key_head_dim", 128);
  rule.value_dim = fields.integer("linear_value_head_dim", 128);
  config.delta = rule;
  config.convolution_size = fields.integer("linear_conv_kernel_dim", 4);
  // A head's query and its gate lie together.
  TensorNames& names = config.names;
  const int64_t dim = config.head_dim;
  names.query = {.name = "self_attn.q_proj",
                 .first = 0,
                 .block = dim,
                 .period = 2 * dim,
                 .rows = 2 * dim * config.num_heads};
  names.attention_gate = names.query;
  names.attention_gate.first = dim;
  names.convolution = "linear_attn.conv1d", names.delta_norm = "linear_attn.norm";
  names.delta_decay_log = "linear_attn.A_log", names.delta_step_bias = "linear_attn.dt_bias";
  names.delta_output = {.name = "linear_attn.out_proj"};
}

// For each head of keys: its query, its key, and values and gates of the heads of values that have it.
void read_qwen3_next(const JsonFields& fields, DecoderConfig& config) {
  read_parts(fields, config);
  read_qwen_experts(fields, config);
  config.experts->is_normalized = fields.boolean("norm_topk_prob", true);
  read_qwen_shared_expert(fields, config);
  const DeltaRule& rule = *config.delta;
  WEFT_CHECK(rule.key_heads > 0 && rule.value_heads % rule.key_heads == 0,
             fmt::format("{}: linear_num_value_heads {} is not a multiple of linear_num_key_heads {}",
                         fields.where(), rule.value_heads, rule.key_heads));
  const int64_t group = rule.value_heads / rule.key_heads, values = group * rule.value_dim,
                period = 2 * rule.key_dim + 2 * values;
  const auto part = [&](const char* name, int64_t first, int64_t block, int64_t every) {
    return MatrixName{
        .name = name, .first = first, .block = block, .period = every, .rows = every * rule.key_heads};
  };
  TensorNames& names = config.names;
  names.delta_query = part("linear_attn.in_proj_qkvz", 0, rule.key_dim, period);
  names.delta_key = part("linear_attn.in_proj_qkvz", rule.key_dim, rule.key_dim, period);
  names.delta_value = part("linear_attn.in_proj_qkvz", 2 * rule.key_dim, values, period);
  names.delta_gate = part("linear_attn.in_proj_qkvz", 2 * rule.key_dim + values, values, period);
  names.delta_beta = part("linear_attn.in_proj_ba", 0, group, 2 * group);
  names.delta_decay = part("linear_attn.in_proj_ba", group, group, 2 * group);
  names.delta_beta.is_exact = names.delta_decay.is_exact = true;
}

void read_qwen3_5(const JsonFields& fields, DecoderConfig& config) {
  read_parts(fields, config);
  const DeltaRule& rule = *config.delta;
  TensorNames& names = config.names;
  const auto parts = stacked("linear_attn.in_proj_qkv", {rule.keys(), rule.keys(), rule.values()});
  names.delta_query = parts[0], names.delta_key = parts[1], names.delta_value = parts[2];
  names.delta_gate = {.name = "linear_attn.in_proj_z"};
  names.delta_beta = {.name = "linear_attn.in_proj_b", .is_exact = true};
  names.delta_decay = {.name = "linear_attn.in_proj_a", .is_exact = true};
}

void read_qwen3_5_moe(const JsonFields& fields, DecoderConfig& config) {
  read_qwen3_5(fields, config);
  read_qwen_experts(fields, config);
  config.experts->is_normalized = true;
  read_qwen_shared_expert(fields, config);
}

[[maybe_unused]] const bool kQwen3Next = register_family("qwen3_next", read_qwen3_next) &&
                                         register_family("qwen3_5_text", read_qwen3_5) &&
                                         register_family("qwen3_5_moe_text", read_qwen3_5_moe);

}  // namespace
}  // namespace weft::models
