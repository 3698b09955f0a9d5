// GPT-Neo, GPT-J and CodeGen, GPT BigCode. source: GPTNeoConfig, GPTJConfig, CodeGenConfig and
// GPTBigCodeConfig of transformers.
#include <fmt/format.h>

#include "core/printable.h"
#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {
namespace {

// "global" or "local" for each layer, from [[["global", "local"], 12]], or as a list.
std::vector<std::string> attention_kinds(const JsonFields& fields, const DecoderConfig& config) {
  std::vector<std::string> kinds;
  if (fields.has("attention_layers")) {
    kinds = fields.texts("attention_layers");
    fields.pass_over("attention_types");
  } else if (fields.has("attention_types")) {
    const auto wrong = [&] {
      throw_error(ErrorKind::Value,
                  fmt::format("{}: attention_types must be a list of pairs of kinds and how often they come",
                              fields.where()));
    };
    const Json& pairs = fields.get("attention_types");
    if (!pairs.is_array()) wrong();
    for (const Json& pair : pairs) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_array() || pair[0].empty() ||
          !pair[1].is_number_integer())
        wrong();
      const auto count = pair[1].get<int64_t>();
      for (int64_t i = 0; i < count && static_cast<int64_t>(kinds.size()) < config.num_layers; ++i)
        for (const Json& kind : pair[0]) {
          if (!kind.is_string()) wrong();
          kinds.push_back(kind.get<std::string>());
        }
    }
  } else {
    for (int64_t i = 0; i < config.num_layers; ++i) kinds.emplace_back(i % 2 == 0 ? "global" : "local");
  }
  WEFT_CHECK(static_cast<int64_t>(kinds.size()) == config.num_layers,
             fmt::format("{}: {} layers have a kind of attention, num_layers is {}", fields.where(),
                         kinds.size(), config.num_layers));
  for (const std::string& kind : kinds)
    WEFT_CHECK(kind == "global" || kind == "local",
               fmt::format("{}: attention is global or local, got '{}'", fields.where(), printable(kind)));
  return kinds;
}

void read_gpt_neo(const JsonFields& fields, DecoderConfig& config) {
  config.vocab_size = fields.integer("vocab_size", 50257);
  config.hidden_size = fields.integer("hidden_size");
  config.num_layers = fields.integer("num_layers");
  config.num_heads = config.num_kv_heads = fields.integer("num_heads");
  config.max_position_embeddings = fields.integer("max_position_embeddings", 2048);
  config.intermediate_size = fields.integer("intermediate_size", 4 * config.hidden_size);
  config.norm_eps = fields.real("layer_norm_epsilon", 1e-5);
  read_head_sizes(fields, config, "num_heads");
  read_activation(fields, config, "activation_function", "gelu_new");
  read_tied(fields, config, true);
  config.norm = NormKind::Layer;
  config.norm_bias = config.has_learned_positions = config.output_bias = config.mlp_bias = true;
  config.score_scale = 1.0;
  const std::vector<std::string> kinds = attention_kinds(fields, config);
  const int64_t window = fields.integer("window_size", 256);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].rope.reset();
    if (kinds[i] == "local") config.layers[i].window = window;
  }
  pass_over_summaries(fields);
  TensorNames& names = config.names;
  set_gpt_names(names);
  names.positions = "transformer.wpe";
  names.query = {.name = "attn.attention.q_proj"}, names.key = {.name = "attn.attention.k_proj"},
  names.value = {.name = "attn.attention.v_proj"}, names.output = {.name = "attn.attention.out_proj"};
  set_plain_mlp(config, "mlp.c_fc", "mlp.c_proj");
  names.unread = {"attn.attention.bias", "attn.attention.masked_bias"};
}

// A head's first elements turn; the MLP has attention's input.
void read_gptj_parts(const JsonFields& fields, DecoderConfig& config) {
  read_gpt_sizes(fields, config, 2048);
  read_tied(fields, config, false);
  config.norm = NormKind::Layer;
  config.norm_bias = config.is_parallel = config.mlp_bias = config.head_bias = true;
  config.ropes[0].dim = fields.has("rotary_dim") || fields.is_absent("rotary_dim")
                            ? fields.integer("rotary_dim", 64)
                            : config.head_dim;
  config.ropes[0].interleaved = true;
  pass_over_summaries(fields);
  for (const char* key : {"rotary", "n_ctx", "scale_attn_weights"}) fields.pass_over(key);
  TensorNames& names = config.names;
  set_gpt_names(names);
  names.mlp_norm = "";
  names.output = {.name = "attn.out_proj"};
  set_plain_mlp(config, "mlp.fc_in", "mlp.fc_out");
  names.unread = {"attn.bias", "attn.masked_bias", "attn.causal_mask"};
}

void read_gptj(const JsonFields& fields, DecoderConfig& config) {
  read_gptj_parts(fields, config);
  TensorNames& names = config.names;
  names.query = {.name = "attn.q_proj"}, names.key = {.name = "attn.k_proj"},
  names.value = {.name = "attn.v_proj"};
}

// In four parts one behind another, each with its heads' queries, values and keys.
void read_codegen(const JsonFields& fields, DecoderConfig& config) {
  read_gptj_parts(fields, config);
  constexpr int64_t kParts = 4;
  WEFT_CHECK(config.num_heads % kParts == 0,
             fmt::format("{}: a codegen model's n_head is a multiple of {}, got {}", fields.where(), kParts,
                         config.num_heads));
  const int64_t block = config.hidden_size / kParts;
  const auto part = [&](int64_t number) {
    return MatrixName{.name = "attn.qkv_proj",
                      .first = number * block,
                      .block = block,
                      .period = 3 * block,
                      .rows = 3 * config.hidden_size};
  };
  config.names.query = part(0), config.names.value = part(1), config.names.key = part(2);
}

void read_gpt_bigcode(const JsonFields& fields, DecoderConfig& config) {
  read_gpt_sizes(fields, config, 1024, "gelu_pytorch_tanh");
  read_tied(fields, config, true);
  if (fields.boolean("multi_query", true)) config.num_kv_heads = 1;
  expect(fields, "num_key_value_heads", std::to_string(config.num_kv_heads).c_str(), "multi_query says it");
  config.norm = NormKind::Layer;
  config.norm_bias = config.has_learned_positions = true;
  config.qkv_bias = config.output_bias = config.mlp_bias = true;
  if (!fields.boolean("scale_attn_weights", true)) config.score_scale = 1.0;
  for (LayerKind& layer : config.layers) layer.rope.reset();
  pass_over_summaries(fields);
  for (const char* key :
       {"attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "inference_runner", "max_batch_size",
        "pad_key_length", "pre_allocate_kv_cache", "validate_runner_input", "n_ctx"})
    fields.pass_over(key);
  TensorNames& names = config.names;
  set_gpt_names(names);
  names.positions = "transformer.wpe";
  fuse_by_group(names, "attn.c_attn", config);
  names.output = {.name = "attn.c_proj"};
  set_plain_mlp(config, "mlp.c_fc", "mlp.c_proj");
  names.unread = {"attn.bias", "attn.masked_bias"};
}

[[maybe_unused]] const bool kGptNeoFamilies =
    register_family("gpt_neo", read_gpt_neo) && register_family("gptj", read_gptj) &&
    register_family("codegen", read_codegen) && register_family("gpt_bigcode", read_gpt_bigcode);

}  // namespace
}  // namespace weft::models
