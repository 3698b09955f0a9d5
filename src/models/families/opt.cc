// OPT and Persimmon. source: OPTConfig and PersimmonConfig of transformers.
#include "models/families/family.h"

namespace weft::models {
namespace {

void read_opt(const JsonFields& fields, DecoderConfig& config) {
  config.vocab_size = fields.integer("vocab_size", 50272);
  config.hidden_size = fields.integer("hidden_size");
  config.num_layers = fields.integer("num_hidden_layers");
  config.num_heads = config.num_kv_heads = fields.integer("num_attention_heads");
  config.max_position_embeddings = fields.integer("max_position_embeddings", 2048);
  config.intermediate_size = fields.integer("ffn_dim");
  config.norm_eps = 1e-5;
  read_head_sizes(fields, config, "num_attention_heads");
  read_activation(fields, config, "activation_function", "relu");
  read_tied(fields, config, true);
  config.norm = NormKind::Layer;
  config.norm_has_weights = config.norm_bias = fields.boolean("layer_norm_elementwise_affine", true);
  config.has_learned_positions = true;
  config.position_offset = 2;
  config.qkv_bias = config.output_bias = config.mlp_bias = fields.boolean("enable_bias", true);
  for (LayerKind& layer : config.layers) layer.rope.reset();
  expect(fields, "do_layer_norm_before", "true", "weft has this family's norms before attention and the MLP");
  expect(fields, "_remove_final_layer_norm", "false", "weft has this family's last norm");
  expect(fields, "word_embed_proj_dim", std::to_string(config.hidden_size).c_str(),
         "embeddings are as wide as the layers");
  TensorNames& names = config.names;
  names.layer = "model.decoder.layers.{}.";
  names.embedding = "model.decoder.embed_tokens", names.positions = "model.decoder.embed_positions";
  names.final_norm = "model.decoder.final_layer_norm";
  names.attention_norm = "self_attn_layer_norm", names.mlp_norm = "final_layer_norm";
  names.output = {.name = "self_attn.out_proj"};
  set_plain_mlp(config, "fc1", "fc2");
}

void read_persimmon(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("layer_norm_eps", 1e-5);
  read_activation(fields, config, "hidden_act", "relu2");
  read_rope(fields, config, 10000.0, 0.5);
  read_tied(fields, config, false);
  config.num_kv_heads = config.num_heads;
  config.norm = NormKind::Layer;
  config.norm_bias = config.qkv_bias = config.output_bias = config.mlp_bias = true;
  TensorNames& names = config.names;
  if (fields.boolean("qk_layernorm", true)) {
    config.head_norm = HeadNorm::Shared;
    config.head_norm_kind = NormKind::Layer;
    config.head_norm_bias = true;
    names.query_norm = "self_attn.q_layernorm", names.key_norm = "self_attn.k_layernorm";
  }
  names.final_norm = "model.final_layernorm";
  fuse_by_group(names, "self_attn.query_key_value", config);
  names.output = {.name = "self_attn.dense"};
  set_plain_mlp(config, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
}

[[maybe_unused]] const bool kOpt =
    register_family("opt", read_opt) && register_family("persimmon", read_persimmon);

}  // namespace
}  // namespace weft::models
