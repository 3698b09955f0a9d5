// The text models of Llama 4. source: Llama4TextConfig of transformers.
#include <fmt/format.h>

#include <algorithm>

#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {
namespace {

void read_llama4(const JsonFields& fields, DecoderConfig& config) {
  read_llama_parts(fields, config, {.norm_eps = 1e-5, .theta = 500000.0});
  config.ropes[0].interleaved = true;
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
  read_experts(fields, config, "num_local_experts");
  Experts& experts = *config.experts;
  experts.intermediate_size = config.intermediate_size;
  experts.shared_size = config.intermediate_size;
  experts.scores = RouterScores::Sigmoid;
  experts.scales_input = true;
  config.intermediate_size = fields.integer("intermediate_size_mlp", 16384);
  if (fields.boolean("use_qk_norm", true)) {
    config.head_norm = HeadNorm::Shared;
    config.head_norm_has_weights = false;
  }
  const bool has_temperature = fields.boolean("attn_temperature_tuning", true);
  config.temperature = fields.real("attn_scale", 0.1);
  config.temperature_positions = fields.integer("floor_scale", 8192);
  const int64_t chunk = fields.integer("attention_chunk_size", 8192),
                interval = fields.integer("no_rope_layer_interval", 4),
                step = fields.integer("interleave_moe_layer_step", 1);
  WEFT_CHECK(
      chunk > 0 && interval > 0 && step > 0,
      fmt::format("{}: attention_chunk_size, no_rope_layer_interval and interleave_moe_layer_step must be "
                  "positive, got {}, {} and {}",
                  fields.where(), chunk, interval, step));
  std::vector<int64_t> turns, mixtures;
  if (fields.has("no_rope_layers")) turns = fields.integers("no_rope_layers");
  if (fields.has("moe_layers")) mixtures = fields.integers("moe_layers");
  const std::vector<std::string> types =
      read_layer_types(fields, config, {"full_attention", "chunked_attention"});
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    LayerKind& layer = config.layers[i];
    const bool does_turn = i < turns.size() ? turns[i] != 0 : (number + 1) % interval != 0;
    if (!does_turn) layer.rope.reset();
    layer.has_temperature = !does_turn && has_temperature;
    layer.has_head_norm = does_turn;
    if (types.empty() ? does_turn : types[i] == "chunked_attention") layer.chunk = chunk;
    layer.has_experts = fields.has("moe_layers")
                            ? std::find(mixtures.begin(), mixtures.end(), number) != mixtures.end()
                            : (number + 1) % step == 0;
  }
  TensorNames& names = config.names;
  names.gate = {.name = "feed_forward.gate_proj"}, names.up = {.name = "feed_forward.up_proj"};
  names.down = {.name = "feed_forward.down_proj"};
  names.shared_gate = {.name = "feed_forward.shared_expert.gate_proj"};
  names.shared_up = {.name = "feed_forward.shared_expert.up_proj"};
  names.shared_down = {.name = "feed_forward.shared_expert.down_proj"};
  names.router = "feed_forward.router";
  const auto halves =
      stacked("feed_forward.experts.gate_up_proj", {experts.intermediate_size, experts.intermediate_size});
  names.expert_gate = halves[0], names.expert_up = halves[1];
  names.expert_down = {.name = "feed_forward.experts.down_proj"};
  for (MatrixName* matrix : {&names.expert_gate, &names.expert_up, &names.expert_down})
    matrix->is_transposed = matrix->is_bare = true, matrix->count = experts.count;
}

[[maybe_unused]] const bool kLlama4 = register_family("llama4_text", read_llama4);

}  // namespace
}  // namespace weft::models
