// GPT-2, GPT-NeoX and Falcon. source: GPT2Config, GPTNeoXConfig and FalconConfig of transformers.
#include <fmt/format.h>

#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {
namespace {

void read_gpt2(const JsonFields& fields, DecoderConfig& config) {
  read_gpt_sizes(fields, config, 1024);
  read_tied(fields, config, true);
  config.norm = NormKind::Layer;
  config.norm_bias = config.has_learned_positions = true;
  config.qkv_bias = config.output_bias = config.mlp_bias = true;
  if (!fields.boolean("scale_attn_weights", true)) config.score_scale = 1.0;
  const bool is_by_layer = fields.boolean("scale_attn_by_inverse_layer_idx", false);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].rope.reset();
    if (is_by_layer) config.layers[i].score_factor = 1.0 / static_cast<double>(i + 1);
  }
  pass_over_summaries(fields);
  for (const char* key : {"reorder_and_upcast_attn", "n_ctx"}) fields.pass_over(key);
  TensorNames& names = config.names;
  set_gpt_names(names);
  names.positions = "transformer.wpe";
  const auto heads = stacked("attn.c_attn", {config.hidden_size, config.hidden_size, config.hidden_size});
  names.query = heads[0], names.key = heads[1], names.value = heads[2];
  names.output = {.name = "attn.c_proj"};
  set_plain_mlp(config, "mlp.c_fc", "mlp.c_proj");
  for (MatrixName* matrix : {&names.query, &names.key, &names.value, &names.output, &names.up, &names.down})
    matrix->is_transposed = true;
  names.unread = {"attn.bias", "attn.masked_bias"};
}

void read_gpt_neox(const JsonFields& fields, DecoderConfig& config) {
  read_sizes(fields, config);
  config.norm_eps = fields.real("layer_norm_eps", 1e-5);
  read_activation(fields, config, "hidden_act", "gelu");
  read_rope(fields, config, fields.real("rotary_emb_base", 10000.0), 0.25);
  read_tied(fields, config, false);
  config.norm = NormKind::Layer;
  config.norm_bias = true;
  config.is_parallel = fields.boolean("use_parallel_residual", true);
  config.qkv_bias = config.output_bias = fields.boolean("attention_bias", true);
  config.mlp_bias = true;
  TensorNames& names = config.names;
  names.layer = "gpt_neox.layers.{}.";
  names.embedding = "gpt_neox.embed_in", names.final_norm = "gpt_neox.final_layer_norm",
  names.head = "embed_out";
  fuse_by_group(names, "attention.query_key_value", config);
  names.output = {.name = "attention.dense"};
  set_plain_mlp(config, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
  names.unread = {"attention.bias", "attention.masked_bias", "attention.rotary_emb.inv_freq"};
}

void read_falcon(const JsonFields& fields, DecoderConfig& config) {
  config.vocab_size = fields.integer("vocab_size", 65024);
  config.hidden_size = read_either(fields, "hidden_size", "n_embed");
  config.num_layers = read_either(fields, "num_hidden_layers", "n_layer");
  config.num_heads = read_either(fields, "num_attention_heads", "n_head");
  config.max_position_embeddings = fields.integer("max_position_embeddings", 2048);
  config.intermediate_size = fields.integer("ffn_hidden_size", 4 * config.hidden_size);
  config.norm_eps = fields.real("layer_norm_epsilon", 1e-5);
  const bool is_new = fields.boolean("new_decoder_architecture", false),
             has_one_key = fields.boolean("multi_query", true);
  const int64_t kv_heads = read_either(fields, "num_kv_heads", "n_head_kv", config.num_heads);
  config.num_kv_heads = is_new ? kv_heads : has_one_key ? 1 : config.num_heads;
  read_head_sizes(fields, config, "num_attention_heads");
  read_activation(fields, config, "activation", "gelu");
  expect(fields, "apply_residual_connection_post_layernorm", "false", "what norms give is not added");
  if (fields.boolean("alibi", false)) {
    config.alibi = Alibi{.is_scaled = true, .is_rounded = true};
    for (LayerKind& layer : config.layers) layer.rope.reset();
    for (const char* key : {"rope_theta", "rope_scaling", "rope_parameters"}) fields.pass_over(key);
  } else {
    read_rope(fields, config);
  }
  read_tied(fields, config, true);
  config.norm = NormKind::Layer;
  config.norm_bias = true;
  config.is_parallel = is_new || fields.boolean("parallel_attn", true);
  fields.pass_over("parallel_attn");
  config.qkv_bias = config.output_bias = config.mlp_bias = fields.boolean("bias", false);
  const int64_t norms = fields.integer("num_ln_in_parallel_attn", is_new ? 2 : 1);
  TensorNames& names = config.names;
  names.layer = "transformer.h.{}.";
  names.embedding = "transformer.word_embeddings", names.final_norm = "transformer.ln_f";
  if (is_new && norms == 2)
    names.attention_norm = "ln_attn", names.mlp_norm = "ln_mlp";
  else if (config.is_parallel)
    names.mlp_norm = "";
  fuse_by_group(names, "self_attention.query_key_value", config);
  names.output = {.name = "self_attention.dense"};
  set_plain_mlp(config, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
  names.unread = {"self_attention.rotary_emb.inv_freq"};
}

[[maybe_unused]] const bool kGptFamilies = register_family("gpt2", read_gpt2) &&
                                           register_family("gpt_neox", read_gpt_neox) &&
                                           register_family("falcon", read_falcon);

}  // namespace
}  // namespace weft::models
