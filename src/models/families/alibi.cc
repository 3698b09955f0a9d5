// BLOOM and MPT: positions by slopes of scores alone. source: BloomConfig and MptConfig of transformers.
#include <fmt/format.h>

#include "models/families/family.h"
#include "models/irrelevant_keys.h"
#include "weft/error.h"

namespace weft::models {
namespace {

// Positions are in the scores of all layers; a plain MLP of four times the width.
void set_alibi(DecoderConfig& config, const Alibi& alibi) {
  config.norm = NormKind::Layer;
  config.alibi = alibi;
  for (LayerKind& layer : config.layers) layer.rope.reset();
}

void read_bloom(const JsonFields& fields, DecoderConfig& config) {
  config.vocab_size = fields.integer("vocab_size", 250880);
  config.hidden_size = read_either(fields, "hidden_size", "n_embed");
  config.num_layers = read_either(fields, "n_layer", "num_hidden_layers");
  config.num_heads = config.num_kv_heads = read_either(fields, "n_head", "num_attention_heads");
  config.max_position_embeddings = read_either(fields, "max_position_embeddings", "seq_length", 2048);
  config.intermediate_size = fields.integer("n_inner", 4 * config.hidden_size);
  config.norm_eps = fields.real("layer_norm_epsilon", 1e-5);
  read_head_sizes(fields, config, "n_head");
  config.activation = MlpActivation::GeluTanh;
  read_tied(fields, config, true);
  expect(fields, "apply_residual_connection_post_layernorm", "false", "what norms give is not added");
  WEFT_CHECK(config.intermediate_size == 4 * config.hidden_size,
             fmt::format("{}: n_inner {} is not four times hidden_size {}", fields.where(),
                         config.intermediate_size, config.hidden_size));
  set_alibi(config, {});
  config.norm_bias = config.qkv_bias = config.output_bias = config.mlp_bias = true;
  for (const char* key : {"slow_but_exact", "attention_softmax_in_fp32", "masked_softmax_fusion",
                          "bias_dropout_fusion", "offset_alibi", "skip_bias_add", "skip_bias_add_qkv"})
    fields.pass_over(key);
  TensorNames& names = config.names;
  names.layer = "transformer.h.{}.";
  names.embedding = "transformer.word_embeddings", names.final_norm = "transformer.ln_f";
  names.embedding_norm = "transformer.word_embeddings_layernorm";
  fuse_by_group(names, "self_attention.query_key_value", config);
  names.output = {.name = "self_attention.dense"};
  set_plain_mlp(config, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
}

void read_mpt_attention(const JsonFields& attention, DecoderConfig& config) {
  expect(attention, "attn_type", "\"multihead_attention\"", "each head of this family has its key");
  expect(attention, "alibi", "true", "weft has this family with alibi");
  expect(attention, "prefix_lm", "false", "weft's models see what is before alone");
  expect(attention, "qk_ln", "false", "weft has this family without norms of heads");
  expect(attention, "attn_uses_sequence_id", "false", "a text is one");
  // As the models were trained; transformers passes it over and has 8 in any case.
  set_alibi(config, {.max_bias = attention.real("alibi_bias_max", 8.0)});
  if (attention.has("clip_qkv")) config.clip_qkv = attention.real("clip_qkv");
  if (attention.has("softmax_scale")) config.score_scale = attention.real("softmax_scale");
  // transformers writes the dictionary as a configuration of its own.
  const std::span<const IrrelevantKey> of_any = irrelevant_config_keys();
  std::vector<IrrelevantKey> irrelevant(of_any.begin(), of_any.end());
  irrelevant.push_back({"attn_impl", "is how PyTorch runs it"});
  irrelevant.push_back({"attn_pdrop", "is of training alone"});
  irrelevant.push_back({"model_type", "is mpt"});
  attention.check_all_understood(irrelevant);
}

void read_mpt(const JsonFields& fields, DecoderConfig& config) {
  config.vocab_size = fields.integer("vocab_size", 50368);
  config.hidden_size = fields.integer("d_model");
  config.num_layers = fields.integer("n_layers");
  config.num_heads = config.num_kv_heads = fields.integer("n_heads");
  config.max_position_embeddings = fields.integer("max_seq_len", 2048);
  config.intermediate_size = fields.integer("expansion_ratio", 4) * config.hidden_size;
  config.norm_eps = fields.real("layer_norm_epsilon", 1e-5);
  read_head_sizes(fields, config, "n_heads");
  config.activation = MlpActivation::Gelu;
  read_tied(fields, config, true);
  const Json none = Json::object();
  read_mpt_attention(
      {fields.has("attn_config") ? fields.get("attn_config") : none, fields.where() + ": attn_config"},
      config);
  expect(fields, "no_bias", "true", "weft has this family without biases");
  expect(fields, "logit_scale", "1 1.0", "logits of this family are as they are");
  // Without a use beside alibi, or in training alone.
  for (const char* key : {"learned_pos_emb", "embedding_fraction", "norm_type", "resid_pdrop", "emb_pdrop",
                          "init_device", "init_config", "verbose"})
    fields.pass_over(key);
  TensorNames& names = config.names;
  names.layer = "transformer.blocks.{}.";
  names.embedding = "transformer.wte", names.final_norm = "transformer.norm_f";
  names.attention_norm = "norm_1", names.mlp_norm = "norm_2";
  const auto heads = stacked("attn.Wqkv", {config.hidden_size, config.hidden_size, config.hidden_size});
  names.query = heads[0], names.key = heads[1], names.value = heads[2];
  names.output = {.name = "attn.out_proj"};
  set_plain_mlp(config, "ffn.up_proj", "ffn.down_proj");
}

[[maybe_unused]] const bool kAlibiFamilies =
    register_family("bloom", read_bloom) && register_family("mpt", read_mpt);

}  // namespace
}  // namespace weft::models
