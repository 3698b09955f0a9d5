// Command R. source: CohereConfig and Cohere2Config of transformers.
#include "models/families/family.h"

#include <fmt/format.h>

#include "weft/error.h"

namespace weft::models {
namespace {

void read_cohere_parts(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("layer_norm_eps", 1e-5);
  read_activation(fields, config);
  read_tied(fields, config, true);
  config.norm = NormKind::Layer;
  config.is_parallel = true;
  config.names.mlp_norm = "";
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  config.logit_scale = fields.real("logit_scale", 0.0625);
}

void read_cohere(const JsonFields& fields, DecoderConfig& config) {
  read_cohere_parts(fields, config);
  read_rope(fields, config);
  config.ropes[0].interleaved = true;
  if (fields.boolean("use_qk_norm", false)) {
    config.head_norm = HeadNorm::PerHead;
    config.head_norm_kind = NormKind::Layer;
  }
}

// Layers with a window turn with the position, the others do not.
void read_cohere2(const JsonFields& fields, DecoderConfig& config) {
  read_cohere_parts(fields, config);
  read_rope(fields, config);
  config.ropes[0].interleaved = true;
  const std::vector<std::string> types = read_layer_types(fields, config);
  const char* const key =
      fields.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  const int64_t window = fields.integer("sliding_window", 4096), pattern = fields.integer(key, 4);
  WEFT_CHECK(pattern > 0, fmt::format("{}: {} must be positive, got {}", fields.where(), key, pattern));
  set_windows_that_turn(config, types, pattern, window);
}

[[maybe_unused]] const bool kCohereFamilies =
    register_family("cohere", read_cohere) && register_family("cohere2", read_cohere2);

}  // namespace
}  // namespace weft::models
