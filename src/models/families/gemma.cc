// Gemma 1 to 3, VaultGemma. source: GemmaConfig, Gemma2Config, VaultGemmaConfig and Gemma3TextConfig of
// transformers.
#include <fmt/format.h>

#include <cmath>

#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {
namespace {

constexpr const char* kBoth = "weft's language models look back only";

void read_gemma_parts(const JsonFields& fields, DecoderConfig& config, int64_t head_dim) {
  read_sizes(fields, config);
  config.head_dim = fields.integer("head_dim", head_dim);
  read_activation(fields, config, fields.has("hidden_activation") ? "hidden_activation" : "hidden_act",
                  "gelu_pytorch_tanh");
  fields.pass_over("hidden_act");
  // source: GemmaConfig of transformers: the first files say gelu and mean this.
  if (!fields.has("hidden_activation") && config.activation == MlpActivation::Gelu)
    config.activation = MlpActivation::GeluTanh;
  read_tied(fields, config, true);
  expect(fields, "use_bidirectional_attention", "false", kBoth);
  config.norm_offset = 1;
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
}

void read_gemma(const JsonFields& fields, DecoderConfig& config) {
  read_gemma_parts(fields, config, 256);
  read_rope(fields, config);
}

void read_gemma2_parts(const JsonFields& fields, DecoderConfig& config) {
  read_gemma_parts(fields, config, 256);
  config.score_scale = 1 / std::sqrt(fields.real("query_pre_attn_scalar", 256.0));
  TensorNames& names = config.names;
  names.attention_post_norm = "post_attention_layernorm";
  names.mlp_norm = "pre_feedforward_layernorm";
  names.mlp_post_norm = "post_feedforward_layernorm";
}

// The layers of `types`, or all but every so many-th where there are none.
void read_gemma_windows(const JsonFields& fields, DecoderConfig& config, int64_t pattern) {
  const std::vector<std::string> types = read_layer_types(fields, config);
  const int64_t window = fields.integer("sliding_window", 4096);
  for (size_t i = 0; i < config.layers.size(); ++i)
    if (types.empty() ? (static_cast<int64_t>(i) + 1) % pattern != 0 : types[i] == "sliding_attention")
      config.layers[i].window = window;
}

void read_gemma2(const JsonFields& fields, DecoderConfig& config) {
  read_gemma2_parts(fields, config);
  read_rope(fields, config);
  if (fields.has("attn_logit_softcapping") || fields.is_absent("attn_logit_softcapping"))
    config.score_cap = fields.real("attn_logit_softcapping", 50.0);
  if (fields.has("final_logit_softcapping") || fields.is_absent("final_logit_softcapping"))
    config.logit_cap = fields.real("final_logit_softcapping", 30.0);
  read_gemma_windows(fields, config, 2);
}

// Gemma 2 without norms behind attention and the MLP.
void read_vaultgemma(const JsonFields& fields, DecoderConfig& config) {
  read_gemma2(fields, config);
  config.names.attention_post_norm = config.names.mlp_post_norm = "";
}

void read_gemma3(const JsonFields& fields, DecoderConfig& config) {
  read_gemma2_parts(fields, config);
  config.head_norm = HeadNorm::Shared;
  config.score_cap = fields.real("attn_logit_softcapping", 0.0);
  config.logit_cap = fields.real("final_logit_softcapping", 0.0);
  const char* const key =
      fields.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  const int64_t pattern = fields.integer(key, 6);
  WEFT_CHECK(pattern > 0, fmt::format("{}: {} must be positive, got {}", fields.where(), key, pattern));
  read_gemma_windows(fields, config, pattern);
  read_ropes_by_type(fields, config, 1e6, fields.real("rope_local_base_freq", 10000.0));
}

[[maybe_unused]] const bool kGemmaFamilies =
    register_family("gemma", read_gemma) && register_family("gemma2", read_gemma2) &&
    register_family("vaultgemma", read_vaultgemma) && register_family("gemma3_text", read_gemma3);

}  // namespace
}  // namespace weft::models
