// GLM 4 and Nemotron. source: GlmConfig, Glm4Config and NemotronConfig of transformers.
#include "models/families/family.h"

namespace weft::models {
namespace {

void read_glm(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.norm_eps = 1.5625e-07, .share = 0.5});
  config.ropes[0].interleaved = true;
  config.qkv_bias = fields.boolean("attention_bias", false);
  const auto halves = stacked("mlp.gate_up_proj", {config.intermediate_size, config.intermediate_size});
  config.names.gate = halves[0], config.names.up = halves[1];
}

void read_glm4(const JsonFields& fields, DecoderConfig& config) {
  read_glm(fields, config);
  config.names.attention_post_norm = "post_self_attn_layernorm";
  config.names.mlp_post_norm = "post_mlp_layernorm";
}

void read_nemotron(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("norm_eps", 1e-5);
  read_activation(fields, config, "hidden_act", "relu2");
  read_rope(fields, config, 10000.0, 0.5);
  read_tied(fields, config, false);
  config.norm = NormKind::Layer;
  config.norm_bias = true;
  config.norm_offset = 1;
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  config.mlp_bias = fields.boolean("mlp_bias", false);
  set_plain_mlp(config, "mlp.up_proj", "mlp.down_proj");
}

[[maybe_unused]] const bool kGlmFamilies = register_family("glm", read_glm) &&
                                           register_family("glm4", read_glm4) &&
                                           register_family("nemotron", read_nemotron);

}  // namespace
}  // namespace weft::models
