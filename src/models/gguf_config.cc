// The description of a decoder by a GGUF file's metadata: its keys become those of config.json, which the
// family reads. source: convert_hf_to_gguf.py and llama-arch.cpp of llama.cpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/printable.h"
#include "core/suggest.h"
#include "models/families/family.h"
#include "models/gguf_architecture.h"
#include "models/gguf_model.h"
#include "weft/error.h"

namespace weft::models {

const std::map<std::string, GgufArchitecture>& gguf_architectures() {
  static const auto& table = *new std::map<std::string, GgufArchitecture>{
      {"llama", {.model_type = "llama", .is_permuted = true}},
      {"qwen2", {.model_type = "qwen2"}},
      {"qwen2moe", {.model_type = "qwen2_moe"}},
      {"qwen3", {.model_type = "qwen3"}},
      {"qwen3moe", {.model_type = "qwen3_moe"}},
      {"gemma", {.model_type = "gemma"}},
      {"gemma2", {.model_type = "gemma2"}},
      {"gemma3", {.model_type = "gemma3_text"}},
      {"phi2", {.model_type = "phi", .turns_in_part = true, .eps_key = "layer_norm_eps"}},
      {"phi3", {.model_type = "phi3", .turns_in_part = true}},
      {"stablelm", {.model_type = "stablelm", .turns_in_part = true, .eps_key = "layer_norm_eps"}},
      {"starcoder2", {.model_type = "starcoder2", .eps_key = "norm_epsilon"}},
      {"command-r", {.model_type = "cohere", .eps_key = "layer_norm_eps"}},
      {"gptneox", {.model_type = "gpt_neox", .turns_in_part = true, .eps_key = "layer_norm_eps"}},
      {"olmo2", {.model_type = "olmo2"}},
      {"olmoe", {.model_type = "olmoe"}},
      {"granite", {.model_type = "granite", .is_permuted = true}},
      {"smollm3", {.model_type = "smollm3", .is_permuted = true}},
      {"glm4", {.model_type = "glm4", .turns_in_part = true}},
      {"nemotron", {.model_type = "nemotron", .turns_in_part = true, .eps_key = "norm_eps"}},
      {"ernie4_5", {.model_type = "ernie4_5"}},
      {"gpt2", {.model_type = "gpt2", .eps_key = "layer_norm_epsilon"}},
      {"falcon", {.model_type = "falcon", .eps_key = "layer_norm_epsilon"}},
      {"bloom", {.model_type = "bloom", .eps_key = "layer_norm_epsilon"}},
      {"mpt", {.model_type = "mpt", .eps_key = "layer_norm_epsilon"}},
      {"gpt-oss", {.model_type = "gpt_oss"}},
      {"deepseek2", {.model_type = "deepseek_v3"}},
      {"lfm2", {.model_type = "lfm2", .eps_key = "norm_eps"}},
      {"llama4", {.model_type = "llama4_text"}},
  };
  return table;
}

namespace {

// Of an architecture's keys, those that are config.json's by another name.
constexpr std::pair<const char*, const char*> kSameKeys[] = {
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"block_count", "num_hidden_layers"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.sliding_window", "sliding_window"},
    {"rope.freq_base", "rope_theta"},
    {"rope.freq_base_swa", "rope_local_base_freq"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"embedding_scale", "embedding_multiplier"},
    {"residual_scale", "residual_multiplier"},
    {"attention.scale", "attention_multiplier"},
    {"use_parallel_residual", "use_parallel_residual"},
};

// Keys that say what the tensors say, or what weft's families do in any case.
constexpr const char* kPassedOver[] = {"vocab_size", "attention.value_length", "rope.dimension_count",
                                       "rope.scaling.finetuned", "tensor_data_layout"};

constexpr int kSoftmaxGate = 1;  // of expert_gating_func; sigmoids are 2

class GgufReader {
 public:
  explicit GgufReader(const GgufFile& file)
      : file_(file), where_(fmt::format("GGUF file '{}'", file.path())) {
    const auto found = file.metadata().find("general.architecture");
    WEFT_CHECK(found != file.metadata().end() && found->is_string(), where_ + ": no 'general.architecture'");
    name_ = found->get<std::string>();
    const auto known = gguf_architectures().find(name_);
    std::vector<std::string> names;
    for (const auto& item : gguf_architectures()) names.push_back(item.first);
    WEFT_CHECK(known != gguf_architectures().end(),
               fmt::format("{}: architecture '{}' is not supported; weft has {}{}", where_, printable(name_),
                           fmt::join(names, ", "), did_you_mean(name_, names)));
    architecture_ = known->second;
  }

  DecoderConfig read() {
    DecoderConfig config;
    config.model_type = architecture_.model_type;
    // Mixtral and Mistral are of this architecture, too.
    if (name_ == "llama" && value("attention.sliding_window")) config.model_type = "mistral";
    if (name_ == "llama" && value("expert_count") && *value("expert_count") != 0)
      config.model_type = "mixtral";
    // Both are of this architecture: one chooses experts by a softmax, the other by sigmoids.
    const Json* const gate = name_ == "deepseek2" ? value("expert_gating_func") : nullptr;
    if (name_ == "deepseek2" && (!gate || *gate == kSoftmaxGate)) config.model_type = "deepseek_v2";
    make_json(config.model_type);
    const JsonFields fields(json_, where_);
    find_family(config.model_type)(fields, config);
    // source: llama-model.cpp: the models of 27B parameters scale scores by another number than the head's
    // size.
    if (name_ == "gemma2" || name_ == "gemma3") {
      const bool is_27b = config.num_layers == (name_ == "gemma2" ? 46 : 62);
      config.score_scale = 1 / std::sqrt(static_cast<double>(is_27b ? config.hidden_size / config.num_heads
                                                                    : config.head_dim));
    }
    finish(config);
    config.check(where_);
    return config;
  }

 private:
  const Json* value(const std::string& key) {
    read_.insert(key);
    const auto found = file_.metadata().find(name_ + "." + key);
    return found == file_.metadata().end() ? nullptr : &*found;
  }
  bool has_tensor(const std::string& name) const { return file_.has(name); }

  void make_json(const std::string& model_type) {
    if (model_type == "lfm2") read_kinds_of_layers();
    for (const auto& [own, key] : kSameKeys)
      if (const Json* found = value(own); found && !json_.contains(key)) json_[key] = in_one(own, *found);
    for (const char* eps : {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"})
      if (const Json* found = value(eps)) json_[architecture_.eps_key] = *found;
    if (const Json* found = value("feed_forward_length"))
      json_["intermediate_size"] = in_one("feed_forward_length", *found);
    if (const Json* found = value("expert_count"); found && *found != 0)
      json_[model_type == "mixtral" || model_type == "gpt_oss" || model_type == "llama4_text"
                ? "num_local_experts"
                : "num_experts"] = *found;
    if (const Json* found = value("logit_scale"))
      json_[model_type == "granite" ? "logits_scaling" : "logit_scale"] = *found;
    WEFT_CHECK(has_tensor("token_embd.weight"), where_ + ": no tensor 'token_embd.weight'");
    json_["vocab_size"] = file_.shape("token_embd.weight")[0];
    json_["tie_word_embeddings"] = !has_tensor("output.weight");
    const bool has_bias = has_tensor("blk.0.attn_q.bias") || has_tensor("blk.0.attn_qkv.bias");
    json_[model_type == "stablelm"    ? "use_qkv_bias"
          : model_type == "qwen2_moe" ? "qkv_bias"
                                      : "attention_bias"] = has_bias;
    if (model_type == "llama" || model_type == "granite" || model_type == "nemotron" ||
        model_type == "smollm3")
      json_["mlp_bias"] = has_tensor("blk.0.ffn_up.bias");
    if (model_type == "starcoder2" || model_type == "ernie4_5") json_["use_bias"] = has_bias;
    if (model_type == "cohere") json_["use_qk_norm"] = has_tensor("blk.0.attn_q_norm.weight");
    if (model_type == "qwen2_moe" || model_type == "qwen3_moe")
      json_["norm_topk_prob"] = model_type == "qwen3_moe";
    if (const Json* found = value("expert_weights_norm")) json_["norm_topk_prob"] = *found;
    const Json* const causal = value("attention.causal");
    WEFT_CHECK(!causal || *causal == true,
               fmt::format("{}: '{}.attention.causal' is not true: weft has decoders", where_, name_));
    if (name_ == "deepseek2") read_latent_keys(model_type);
    for (const char* key : {"expert_group_count", "expert_group_used_count"}) {
      const Json* const groups = value(key);
      WEFT_CHECK(
          !groups || name_ == "deepseek2" || *groups == 0 || *groups == 1,
          fmt::format("{}: '{}.{}' is {}: weft chooses experts without groups in files of this architecture",
                      where_, name_, key, groups->dump()));
    }
    if (model_type == "mixtral") json_["moe_intermediate_size"] = json_["intermediate_size"];
    if (model_type == "qwen3_moe" && json_.contains("sliding_window")) json_.erase("sliding_window");
    if (model_type == "gpt2") {
      for (const auto& [key, of_gpt2] : {std::pair{"hidden_size", "n_embd"},
                                         {"num_hidden_layers", "n_layer"},
                                         {"num_attention_heads", "n_head"},
                                         {"max_position_embeddings", "n_positions"},
                                         {"intermediate_size", "n_inner"}})
        if (json_.contains(key)) json_[of_gpt2] = json_[key];
    }
    if (model_type == "mpt") read_mpt_keys();
    if (model_type == "falcon") read_falcon_keys();
    if (model_type == "llama4_text") read_llama4_keys();
    read_scaling();
    check_all_read();
  }

  // Layers without keys are convolutions.
  void read_kinds_of_layers() {
    json_["block_auto_adjust_ff_dim"] = false;
    if (const Json* found = value("shortconv.l_cache")) json_["conv_L_cache"] = *found;
    const Json* const heads = value("attention.head_count_kv");
    if (!heads || !heads->is_array()) return;
    Json types = Json::array();
    for (const Json& count : *heads) {
      WEFT_CHECK(count.is_number_integer(),
                 fmt::format("{}: '{}.attention.head_count_kv' is not a list of integers", where_, name_));
      types.push_back(count == 0 ? "conv" : "full_attention");
      if (count != 0) {
        WEFT_CHECK(
            !json_.contains("num_key_value_heads") || json_["num_key_value_heads"] == count,
            fmt::format("{}: '{}.attention.head_count_kv' differs from layer to layer, which weft does "
                        "not have",
                        where_, name_));
        json_["num_key_value_heads"] = count;
      }
    }
    json_["layer_types"] = types;
  }

  void read_mpt_keys() {
    for (const auto& [key, of_mpt] : {std::pair{"hidden_size", "d_model"},
                                      {"num_hidden_layers", "n_layers"},
                                      {"num_attention_heads", "n_heads"},
                                      {"max_position_embeddings", "max_seq_len"}})
      if (json_.contains(key)) json_[of_mpt] = json_[key];
    const Json* const bias = value("attention.max_alibi_bias");
    Json attention = {{"alibi", bias && *bias != 0}};
    if (bias && *bias != 0) attention["alibi_bias_max"] = *bias;
    if (const Json* most = value("attention.clamp_kqv"); most && *most != 0) attention["clip_qkv"] = *most;
    json_["attn_config"] = attention;
  }

  void read_falcon_keys() {
    const bool has_both_norms = has_tensor("blk.0.attn_norm_2.weight");
    const Json heads = json_.value("num_attention_heads", Json(1)),
               kv_heads = json_.value("num_key_value_heads", heads);
    json_["num_kv_heads"] = kv_heads;
    json_["multi_query"] = kv_heads == 1;
    json_["new_decoder_architecture"] = has_both_norms || (kv_heads != 1 && kv_heads != heads);
    json_["num_ln_in_parallel_attn"] = has_both_norms ? 2 : 1;
    if (json_.contains("intermediate_size")) json_["ffn_hidden_size"] = json_["intermediate_size"];
  }

  // source: llama-model.cpp: the largest model has no norms of heads; the rest is the same in all.
  void read_llama4_keys() {
    json_["intermediate_size_mlp"] = json_.value("intermediate_size", Json());
    json_["intermediate_size"] = json_.value("moe_intermediate_size", Json());
    if (const Json* step = value("interleave_moe_layer_step")) json_["interleave_moe_layer_step"] = *step;
    json_["use_qk_norm"] = json_.value("num_local_experts", Json()) != 128;
  }

  int64_t integer(const char* key, const char* instead = nullptr) {
    const Json* found = value(key);
    if (!found && instead != nullptr) found = value(instead);
    WEFT_CHECK(found && found->is_number_integer(),
               fmt::format("{}: '{}.{}' is not there, or is not an integer", where_, name_, key));
    return found->get<int64_t>();
  }

  void read_latent_keys(const std::string& model_type) {
    const int64_t turning = integer("rope.dimension_count");
    json_["kv_lora_rank"] = integer("attention.kv_lora_rank");
    if (const Json* rank = value("attention.q_lora_rank"); rank && *rank != 0) json_["q_lora_rank"] = *rank;
    json_["qk_rope_head_dim"] = turning;
    json_["qk_nope_head_dim"] = integer("attention.key_length_mla", "attention.key_length") - turning;
    json_["v_head_dim"] = integer("attention.value_length_mla", "attention.value_length");
    for (const auto& [own, key] : {std::pair{"expert_count", "n_routed_experts"},
                                   {"expert_shared_count", "n_shared_experts"},
                                   {"expert_weights_scale", "routed_scaling_factor"},
                                   {"expert_group_count", "n_group"},
                                   {"expert_group_used_count", "topk_group"},
                                   {"leading_dense_block_count", "first_k_dense_replace"}})
      if (const Json* found = value(own)) json_[key] = *found;
    // What a file does not say is not what the family's class has.
    for (const auto& [key, plain] : {std::pair{"n_group", Json(1)},
                                     {"topk_group", Json(1)},
                                     {"routed_scaling_factor", Json(1.0)},
                                     {"first_k_dense_replace", Json(0)}})
      if (!json_.contains(key)) json_[key] = plain;
    if (model_type == "deepseek_v2")
      json_["topk_method"] = json_["n_group"] == 1 ? "greedy" : "group_limited_greedy";
    else if (!json_.contains("norm_topk_prob"))
      json_["norm_topk_prob"] = false;
    if (const Json* further = value("nextn_predict_layers"))
      WEFT_CHECK(*further == 0, fmt::format("{}: weft does not read '{}.nextn_predict_layers' layers of {}",
                                            where_, name_, further->dump()));
    json_["attention_bias"] = false;
  }

  // Some writers have a list of one number per layer, all the same.
  Json in_one(const std::string& key, const Json& found) const {
    if (!found.is_array()) return found;
    WEFT_CHECK(
        !found.empty() &&
            std::all_of(found.begin(), found.end(), [&](const Json& x) { return x == found[0]; }),
        fmt::format("{}: '{}.{}' differs from layer to layer, which weft does not have", where_, name_, key));
    return found[0];
  }

  void read_scaling() {
    const Json *type = value("rope.scaling.type"), *factor = value("rope.scaling.factor"),
               *original = value("rope.scaling.original_context_length"),
               *attention = value("rope.scaling.attn_factor");
    if (const Json* old = value("rope.scale_linear"); old && !factor) factor = old;
    std::string kind = type && type->is_string() ? type->get<std::string>() : factor ? "linear" : "none";
    if (has_tensor("rope_factors_long.weight")) kind = "longrope";
    if (kind == "none") return;
    Json scaling = {{"rope_type", kind}};
    if (factor) scaling["factor"] = *factor;
    if (name_ == "gpt-oss" && kind == "yarn") scaling["truncate"] = false;  // as all of the family
    if (original && kind != "linear") scaling["original_max_position_embeddings"] = *original;
    if (name_ == "deepseek2" && kind == "yarn") {
      // Cosines and sines are as they are, and the scores' scale has the square of this logarithm.
      const Json* const times = value("rope.scaling.yarn_log_multiplier");
      const double of_all = times && times->is_number() ? 10 * times->get<double>() : 0;
      scaling["mscale"] = scaling["mscale_all_dim"] = of_all;
      scaling["attention_factor"] = 1.0;
    } else if (attention) {
      // Of YaRN, this is beside the factor that follows from how much longer texts are.
      const bool is_beside = kind == "yarn" && factor && factor->is_number() && attention->is_number();
      scaling["attention_factor"] =
          is_beside ? Json(attention->get<double>() * yarn_scale(factor->get<double>())) : *attention;
    }
    for (const auto& [own, key] : {std::pair{"rope.scaling.yarn_beta_fast", "beta_fast"},
                                   {"rope.scaling.yarn_beta_slow", "beta_slow"}})
      if (const Json* found = value(own)) scaling[key] = *found;
    if (kind == "longrope") {
      scaling["short_factor"] = numbers("rope_factors_short.weight");
      scaling["long_factor"] = numbers("rope_factors_long.weight");
    }
    json_["rope_scaling"] = scaling;
  }

  std::vector<double> numbers(const std::string& tensor) const {
    const Tensor values = file_.tensor(tensor).to(DType::F32).contiguous();
    return {values.data_as<float>(), values.data_as<float>() + values.numel()};
  }

  void check_all_read() {
    value("attention.sliding_window_pattern");
    const std::string prefix = name_ + ".";
    for (const auto& [key, found] : file_.metadata().items()) {
      if (!key.starts_with(prefix)) continue;
      const std::string own = key.substr(prefix.size());
      const bool is_known = read_.contains(own) || std::any_of(std::begin(kPassedOver), std::end(kPassedOver),
                                                               [&](const char* name) { return own == name; });
      WEFT_CHECK(is_known, fmt::format("{}: weft does not understand '{}'", where_, printable(key)));
    }
  }

  void finish(DecoderConfig& config) {
    if (architecture_.is_permuted) config.ropes[0].interleaved = true;
    config.norm_offset = 0;  // the stored weights have it
    if (const Json* count = value("rope.dimension_count"); count && architecture_.turns_in_part) {
      WEFT_CHECK(count->is_number_integer(),
                 fmt::format("{}: '{}.rope.dimension_count' is not an integer", where_, name_));
      for (Rope& rope : config.ropes) rope.dim = count->get<int64_t>();
    }
    // What frequencies are divided by: Llama 3's scaling, computed by who wrote the file.
    if (has_tensor("rope_freqs.weight")) {
      Rope& rope = config.ropes[0];
      rope.scaling = RopeScaling::LongRope;
      rope.short_factors = numbers("rope_freqs.weight");
      rope.long_factors = {};
      rope.attention_factor = 1;
      rope.original_positions = config.max_position_embeddings;
      const int64_t dim = rope.dim == 0 ? config.head_dim : rope.dim;
      WEFT_CHECK(
          static_cast<int64_t>(rope.short_factors.size()) == dim / 2,
          fmt::format("{}: tensor 'rope_freqs.weight' has {} factors for {} pairs of a head's elements",
                      where_, rope.short_factors.size(), dim / 2));
    }
    if (config.experts)
      for (size_t i = 0; i < config.layers.size(); ++i)
        config.layers[i].has_experts = has_tensor(fmt::format("blk.{}.ffn_gate_inp.weight", i));
    check_windows(config);
    name_as_gguf(config);
    if (has_tensor("output_norm.weight")) config.names.final_norm = "output_norm";
    config.torch_dtype = dtype_of_weights();
    read_ids(config);
  }

  // The file says which layers have a window: one by one, or that each so-and-so-manieth has none.
  void check_windows(const DecoderConfig& config) {
    const Json* const pattern = value("attention.sliding_window_pattern");
    if (!pattern) return;
    for (size_t i = 0; i < config.layers.size(); ++i) {
      const bool is_list = pattern->is_array() && pattern->size() > i && (*pattern)[i].is_boolean();
      const bool is_period = pattern->is_number_integer() && *pattern > 0;
      const bool expected = is_list
                                ? (*pattern)[i].get<bool>()
                                : is_period && (static_cast<int64_t>(i) + 1) % pattern->get<int64_t>() != 0;
      WEFT_CHECK((is_list || is_period) && expected == config.layers[i].window.has_value(),
                 fmt::format("{}: '{}.attention.sliding_window_pattern' is not how {} has windows", where_,
                             name_, config.model_type));
    }
  }

  // That of the embedding; float32 where it is blocks. Keys and values are kept in it.
  std::string dtype_of_weights() const {
    if (file_.blocks("token_embd.weight") != BlockFormat::None) return "float32";
    const std::string dtype(weft::name(file_.dtype("token_embd.weight")));
    return dtype == "bfloat16" || dtype == "float16" ? dtype : "float32";
  }

  void read_ids(DecoderConfig& config) const {
    const auto id = [&](const char* key) -> std::optional<int64_t> {
      const auto found = file_.metadata().find(std::string("tokenizer.ggml.") + key);
      if (found == file_.metadata().end()) return std::nullopt;
      WEFT_CHECK(found->is_number_integer(),
                 fmt::format("{}: 'tokenizer.ggml.{}' is not an integer", where_, key));
      return found->get<int64_t>();
    };
    config.bos_token_id = id("bos_token_id");
    for (const char* key : {"eos_token_id", "eot_token_id", "eom_token_id"})
      if (const auto found = id(key);
          found && std::find(config.eos_token_ids.begin(), config.eos_token_ids.end(), *found) ==
                       config.eos_token_ids.end())
        config.eos_token_ids.push_back(*found);
  }

  const GgufFile& file_;
  std::string where_, name_;
  GgufArchitecture architecture_;
  Json json_ = Json::object();
  std::set<std::string> read_;
};

}  // namespace

// The names that all architectures share, in the places where the family has a tensor.
void name_as_gguf(DecoderConfig& config) {
  TensorNames& names = config.names;
  names.layer = "blk.{}.";
  names.embedding = "token_embd", names.positions = "position_embd";
  names.final_norm = config.model_type == "lfm2" ? "token_embd_norm" : "output_norm", names.head = "output";
  if (!names.embedding_norm.empty()) names.embedding_norm = "token_embd_norm";
  const bool only_behind = names.attention_norm.empty();
  if (!only_behind) names.attention_norm = "attn_norm";
  if (!names.attention_post_norm.empty()) names.attention_post_norm = "post_attention_norm";
  // What a Falcon's MLP has before it stands where others have attention's.
  const bool has_both = config.model_type == "falcon" && config.is_parallel && !names.mlp_norm.empty();
  if (has_both) names.attention_norm = "attn_norm_2";
  if (!names.mlp_norm.empty())
    names.mlp_norm = has_both                         ? "attn_norm"
                     : config.model_type == "gpt_oss" ? "post_attention_norm"
                                                      : "ffn_norm";
  if (!names.mlp_post_norm.empty()) names.mlp_post_norm = "post_ffw_norm";
  names.query_norm = "attn_q_norm", names.key_norm = "attn_k_norm", names.sinks = "attn_sinks.weight";
  const bool is_fused = names.query.name == names.key.name;
  const auto rename = [](MatrixName& matrix, const char* name) {
    matrix.name = name;
    matrix.bias.clear();
    matrix.is_bare = matrix.is_transposed = false;
  };
  if (is_fused) {
    // Of groups of heads, writers put all queries first, then keys, then values.
    const int64_t dim = config.head_dim;
    const auto parts =
        stacked("attn_qkv", {config.num_heads * dim, config.num_kv_heads * dim, config.num_kv_heads * dim});
    names.query = parts[0], names.key = parts[1], names.value = parts[2];
  } else {
    rename(names.query, "attn_q"), rename(names.key, "attn_k"), rename(names.value, "attn_v");
  }
  rename(names.output, "attn_output");
  rename(names.latent_query_in, "attn_q_a"), rename(names.latent_query_out, "attn_q_b");
  rename(names.latent_in, "attn_kv_a_mqa"), rename(names.latent_out, "attn_kv_b");
  names.latent_query_norm = "attn_q_a_norm", names.latent_norm = "attn_kv_a_norm";
  rename(names.convolution_in, "shortconv.in_proj"), rename(names.convolution_out, "shortconv.out_proj");
  names.convolution = "shortconv.conv";
  const bool halves = config.is_gated && names.gate.name == names.up.name;
  rename(names.gate, halves ? "ffn_up" : "ffn_gate");
  rename(names.up, "ffn_up"), rename(names.down, "ffn_down");
  if (!config.is_gated) names.gate = {};
  names.router = "ffn_gate_inp", names.correction = "exp_probs_b.bias";
  names.shared_scale = "ffn_gate_inp_shexp";
  rename(names.shared_gate, "ffn_gate_shexp"), rename(names.shared_up, "ffn_up_shexp");
  rename(names.shared_down, "ffn_down_shexp");
  const int64_t count = config.experts ? config.experts->count : 0;
  names.expert_gate = {.name = "ffn_gate_exps", .count = count};
  names.expert_up = {.name = "ffn_up_exps", .count = count};
  names.expert_down = {.name = "ffn_down_exps", .count = count};
  names.unread = {"attn_rot_embd.weight"};
}

DecoderConfig gguf_config(const GgufFile& file) { return GgufReader(file).read(); }

}  // namespace weft::models
