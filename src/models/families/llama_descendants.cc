// Granite, SmolLM3, Ernie 4.5: Llama with something besides. source: GraniteConfig, SmolLM3Config,
// Ernie4_5Config of transformers.
#include "models/families/family.h"

#include <fmt/format.h>

#include "weft/error.h"

namespace weft::models {
namespace {

void read_granite(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  read_activation(fields, config);
  read_rope(fields, config);
  read_tied(fields, config, false);
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

// Some layers' positions do not turn: those for which no_rope_layers has 0.
void read_smollm3(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  read_activation(fields, config);
  read_rope(fields, config, 2000000.0);
  read_tied(fields, config, true);
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
  read_sizes(fields, config);
  config.norm_eps = fields.real("rms_norm_eps", 1e-5);
  read_activation(fields, config);
  read_rope(fields, config, 500000.0);
  read_tied(fields, config, true);
  config.ropes[0].interleaved = true;
  config.qkv_bias = config.output_bias = config.mlp_bias = fields.boolean("use_bias", false);
}

[[maybe_unused]] const bool kLlamaDescendants = register_family("granite", read_granite) &&
                                                register_family("smollm3", read_smollm3) &&
                                                register_family("ernie4_5", read_ernie);

}  // namespace
}  // namespace weft::models
