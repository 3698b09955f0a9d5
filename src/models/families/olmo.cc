// OLMo 1 to 3, OLMoE, FlexOlmo. source: OlmoConfig, Olmo2Config, Olmo3Config, OlmoeConfig and FlexOlmoConfig
// of transformers.
#include "models/families/family.h"

namespace weft::models {
namespace {

void read_olmo_parts(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("rms_norm_eps", 1e-5);
  read_activation(fields, config);
  read_tied(fields, config, false);
  config.head_norm = HeadNorm::Whole;
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
}

// Norms without weights.
void read_olmo(const JsonFields& fields, DecoderConfig& config) {
  read_olmo_parts(fields, config);
  read_rope(fields, config);
  config.norm_eps = 1e-5;
  fields.pass_over("rms_norm_eps");
  config.norm = NormKind::Layer;
  config.norm_has_weights = false;
  config.head_norm = HeadNorm::None;
  config.clip_qkv = fields.real("clip_qkv", 0.0);
}

void read_post_norms(const JsonFields& fields, DecoderConfig& config) {
  read_olmo_parts(fields, config);
  set_norms_behind(config.names);
}

void read_olmo2(const JsonFields& fields, DecoderConfig& config) {
  read_post_norms(fields, config);
  read_rope(fields, config);
}

// Three layers of four see a window, and turn by frequencies that are not scaled.
void read_olmo3(const JsonFields& fields, DecoderConfig& config) {
  read_post_norms(fields, config);
  const std::vector<std::string> types = read_layer_types(fields, config);
  const int64_t window = fields.integer("sliding_window", 4096);
  for (size_t i = 0; i < config.layers.size(); ++i)
    if (types.empty() ? (i + 1) % 4 != 0 : types[i] == "sliding_attention") config.layers[i].window = window;
  read_ropes_by_type(fields, config, 500000.0, fields.real("rope_theta", 500000.0));
}

void read_olmoe(const JsonFields& fields, DecoderConfig& config) {
  read_olmo_parts(fields, config);
  read_rope(fields, config);
  config.clip_qkv = fields.real("clip_qkv", 0.0);
  read_experts(fields, config, "num_experts");
}

void read_flex_olmo(const JsonFields& fields, DecoderConfig& config) {
  read_post_norms(fields, config);
  config.norm_eps = fields.real("rms_norm_eps", 1e-6);
  read_rope(fields, config, 500000.0);
  read_experts(fields, config, "num_experts");
}

[[maybe_unused]] const bool kOlmoFamilies =
    register_family("olmo", read_olmo) && register_family("olmo2", read_olmo2) &&
    register_family("olmo3", read_olmo3) && register_family("olmoe", read_olmoe) &&
    register_family("flex_olmo", read_flex_olmo);

}  // namespace
}  // namespace weft::models
