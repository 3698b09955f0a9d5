// Phi 1 to 4. source: PhiConfig and Phi3Config of transformers.
#include "models/families/family.h"

namespace weft::models {
namespace {

void read_phi(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("layer_norm_eps", 1e-5);
  read_activation(fields, config, "hidden_act", "gelu_new");
  read_rope(fields, config, 10000.0, 0.5);
  read_tied(fields, config, false);
  if (fields.boolean("qk_layernorm", false)) {
    config.head_norm = HeadNorm::Shared;
    config.head_norm_kind = NormKind::Layer;
    config.head_norm_bias = true;
    config.names.query_norm = "self_attn.q_layernorm", config.names.key_norm = "self_attn.k_layernorm";
  }
  config.norm = NormKind::Layer;
  config.norm_bias = config.is_parallel = true;
  config.qkv_bias = config.output_bias = config.mlp_bias = config.head_bias = true;
  set_plain_mlp(config, "mlp.fc1", "mlp.fc2");
  config.names.output = {.name = "self_attn.dense"};
  config.names.mlp_norm = "";
  config.names.final_norm = "model.final_layernorm";
}

void read_phi3(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("rms_norm_eps", 1e-5);
  read_activation(fields, config);
  read_rope(fields, config, 10000.0, 1.0);
  read_tied(fields, config, false);
  expect(fields, "attention_bias", "false", "a phi3 model has no biases");
  if (fields.has("sliding_window"))
    for (LayerKind& layer : config.layers) layer.window = fields.integer("sliding_window");
  const int64_t kv = config.num_kv_heads * config.head_dim;
  const auto heads = stacked("self_attn.qkv_proj", {config.num_heads * config.head_dim, kv, kv});
  config.names.query = heads[0], config.names.key = heads[1], config.names.value = heads[2];
  const auto halves = stacked("mlp.gate_up_proj", {config.intermediate_size, config.intermediate_size});
  config.names.gate = halves[0], config.names.up = halves[1];
}

[[maybe_unused]] const bool kPhiFamilies =
    register_family("phi", read_phi) && register_family("phi3", read_phi3);

}  // namespace
}  // namespace weft::models
