// Llama, Mistral and Ministral. source: LlamaConfig, MistralConfig and MinistralConfig of transformers.
#include "models/families/family.h"

#include <fmt/format.h>

#include "weft/error.h"

namespace weft::models {
namespace {

void read_llama(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config);
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  config.mlp_bias = fields.boolean("mlp_bias", false);
  const bool is_on = fields.boolean("use_sliding_window", false);
  WEFT_CHECK(!is_on && (!fields.has("sliding_window") || fields.has("use_sliding_window")),
             fmt::format("{}: a llama model has no sliding_window", fields.where()));
  for (const char* key : {"sliding_window", "max_window_layers"}) fields.pass_over(key);
  read_windows_by_type(fields, config, read_layer_types(fields, config));
}

void read_mistral(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config);
  WEFT_CHECK(!fields.boolean("attention_bias", false),
             fmt::format("{}: a mistral model has no attention_bias", fields.where()));
  WEFT_CHECK(!fields.boolean("mlp_bias", false),
             fmt::format("{}: a mistral model has no mlp_bias", fields.where()));
  WEFT_CHECK(fields.boolean("use_sliding_window", true) || !fields.has("sliding_window"),
             fmt::format("{}: sliding_window with use_sliding_window false is not supported: a mistral "
                         "model has its window in any case",
                         fields.where()));
  WEFT_CHECK(!fields.has("max_window_layers"),
             fmt::format("{}: a mistral model has no max_window_layers; weft reads its layer_types",
                         fields.where()));
  if (fields.has("layer_types")) {
    read_windows_by_type(fields, config, read_layer_types(fields, config));
    return;
  }
  if (!fields.has("sliding_window") && !fields.is_absent("sliding_window")) return;
  for (LayerKind& layer : config.layers) layer.window = fields.integer("sliding_window", 4096);
}

void read_ministral(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config);
  if (fields.has("layer_types")) {
    read_windows_by_type(fields, config, read_layer_types(fields, config));
    return;
  }
  if (!fields.has("sliding_window") && !fields.is_absent("sliding_window")) return;
  for (LayerKind& layer : config.layers) layer.window = fields.integer("sliding_window", 4096);
}

[[maybe_unused]] const bool kLlamaFamilies = register_family("llama", read_llama) &&
                                             register_family("mistral", read_mistral) &&
                                             register_family("ministral", read_ministral);

}  // namespace
}  // namespace weft::models
