// Qwen2, Qwen3, their mixtures, and the texts of those that see pictures. source: Qwen2Config,
// Qwen2MoeConfig, Qwen3Config, Qwen3MoeConfig, Qwen2VLTextConfig, Qwen2_5_VLTextConfig, Qwen3VLTextConfig and
// Qwen3VLMoeTextConfig of transformers.
#include <fmt/format.h>

#include <algorithm>

#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {

// Every decoder_sparse_step-th layer has experts, but for mlp_only_layers.
void read_qwen_experts(const JsonFields& fields, DecoderConfig& config) {
  read_experts(fields, config, fields.has("num_experts") ? "num_experts" : "num_local_experts");
  const int64_t step = fields.integer("decoder_sparse_step", 1);
  WEFT_CHECK(step > 0, fmt::format("{}: decoder_sparse_step must be positive, got {}", fields.where(), step));
  std::vector<int64_t> dense;
  if (fields.has("mlp_only_layers")) dense = fields.integers("mlp_only_layers");
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    config.layers[i].has_experts =
        std::find(dense.begin(), dense.end(), layer) == dense.end() && (layer + 1) % step == 0;
  }
}

void read_qwen_shared_expert(const JsonFields& fields, DecoderConfig& config) {
  config.experts->shared_size = fields.integer("shared_expert_intermediate_size");
  config.experts->shared_is_gated = true;
  TensorNames& names = config.names;
  names.shared_gate = {.name = "mlp.shared_expert.gate_proj"};
  names.shared_up = {.name = "mlp.shared_expert.up_proj"};
  names.shared_down = {.name = "mlp.shared_expert.down_proj"};
}

void stack_qwen_experts(DecoderConfig& config) {
  TensorNames& names = config.names;
  const int64_t size = config.experts->intermediate_size;
  const auto halves = stacked("mlp.experts.gate_up_proj", {size, size});
  names.expert_gate = halves[0], names.expert_up = halves[1];
  names.expert_down = {.name = "mlp.experts.down_proj"};
  for (MatrixName* matrix : {&names.expert_gate, &names.expert_up, &names.expert_down})
    matrix->is_transposed = matrix->is_bare = true, matrix->count = config.experts->count;
}

namespace {

void read_qwen(const JsonFields& fields, DecoderConfig& config, const LlamaDefaults& defaults = {}) {
  read_llama_parts(fields, config, defaults);
  read_qwen_windows(fields, config);
}

void read_qwen2_parts(const JsonFields& fields, DecoderConfig& config, const LlamaDefaults& defaults) {
  read_qwen(fields, config, defaults);
  WEFT_CHECK(!fields.boolean("mlp_bias", false),
             fmt::format("{}: a qwen2 model has no mlp_bias", fields.where()));
  fields.pass_over("attention_bias");
  config.qkv_bias = true;
}

void read_qwen2(const JsonFields& fields, DecoderConfig& config) { read_qwen2_parts(fields, config, {}); }

void read_qwen2_vl(const JsonFields& fields, DecoderConfig& config) {
  read_qwen2_parts(fields, config, {.norm_eps = 1e-5, .theta = 1e6, .own = kPlaces});
}

void read_qwen3_parts(const JsonFields& fields, DecoderConfig& config, const LlamaDefaults& defaults) {
  read_qwen(fields, config, defaults);
  config.head_norm = HeadNorm::Shared;
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", false);
}

void read_qwen3(const JsonFields& fields, DecoderConfig& config) { read_qwen3_parts(fields, config, {}); }

void read_qwen3_vl(const JsonFields& fields, DecoderConfig& config) {
  read_qwen3_parts(fields, config, {.theta = 500000.0, .own = kPlaces});
}

void read_qwen3_moe(const JsonFields& fields, DecoderConfig& config) {
  read_qwen3(fields, config);
  read_qwen_experts(fields, config);
}

// All experts lie in two tensors.
void read_qwen3_vl_moe(const JsonFields& fields, DecoderConfig& config) {
  read_qwen3_vl(fields, config);
  read_qwen_experts(fields, config);
  config.experts->is_normalized = true;
  stack_qwen_experts(config);
}

void read_qwen2_moe(const JsonFields& fields, DecoderConfig& config) {
  read_qwen(fields, config);
  config.qkv_bias = fields.boolean("qkv_bias", true);
  read_qwen_experts(fields, config);
  read_qwen_shared_expert(fields, config);
}

[[maybe_unused]] const bool kQwenFamilies =
    register_family("qwen2", read_qwen2) && register_family("qwen3", read_qwen3) &&
    register_family("qwen2_moe", read_qwen2_moe) && register_family("qwen3_moe", read_qwen3_moe) &&
    register_family("qwen2_vl_text", read_qwen2_vl) && register_family("qwen2_5_vl_text", read_qwen2_vl) &&
    register_family("qwen3_vl_text", read_qwen3_vl) &&
    register_family("qwen3_vl_moe_text", read_qwen3_vl_moe);

}  // namespace
}  // namespace weft::models
