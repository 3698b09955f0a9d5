// StableLM and StarCoder2. source: StableLmConfig and Starcoder2Config of transformers.
#include "models/families/family.h"

namespace weft::models {
namespace {

void read_stablelm(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("layer_norm_eps", 1e-5);
  read_activation(fields, config);
  read_rope(fields, config, 10000.0, 0.25);
  read_tied(fields, config, false);
  if (fields.boolean("qk_layernorm", false)) {
    config.head_norm = HeadNorm::PerHead;
    config.head_norm_kind = NormKind::Layer;
    config.names.query_norm = "self_attn.q_layernorm.norms.{}";
    config.names.key_norm = "self_attn.k_layernorm.norms.{}";
  }
  config.norm = NormKind::Layer;
  config.norm_bias = true;
  config.qkv_bias = fields.boolean("use_qkv_bias", false);
  config.is_parallel = fields.boolean("use_parallel_residual", false);
  if (config.is_parallel) config.names.mlp_norm = "";
}

void read_starcoder2(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("norm_epsilon", 1e-5);
  read_activation(fields, config, "hidden_act", "gelu_pytorch_tanh");
  read_rope(fields, config);
  read_tied(fields, config, true);
  config.norm = NormKind::Layer;
  config.norm_bias = true;
  config.qkv_bias = config.output_bias = config.mlp_bias = fields.boolean("use_bias", true);
  set_plain_mlp(config, "mlp.c_fc", "mlp.c_proj");
  if (fields.has("layer_types"))
    return read_windows_by_type(fields, config, read_layer_types(fields, config));
  if (fields.has("sliding_window"))
    for (LayerKind& layer : config.layers) layer.window = fields.integer("sliding_window");
}

[[maybe_unused]] const bool kStable =
    register_family("stablelm", read_stablelm) && register_family("starcoder2", read_starcoder2);

}  // namespace
}  // namespace weft::models
