// source: Gemma3Config, Mistral3Config, Llama4Config, LlavaConfig, Qwen2VLConfig, Qwen3VLConfig and their
// neighbours, and conversion_mapping.py of transformers.
#include "models/text_part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/printable.h"
#include "core/suggest.h"
#include "models/irrelevant_keys.h"
#include "models/json_fields.h"
#include "weft/error.h"

namespace weft::models {
namespace {

// By model_type, that of the text part where text_config does not say it.
const std::map<std::string, const char*>& whole_models() {
  static const auto& table = *new std::map<std::string, const char*>{
      {"aya_vision", "cohere2"},
      {"gemma3", "gemma3_text"},
      {"internvl", "qwen2"},
      {"llama4", "llama4_text"},
      {"llava", "llama"},
      {"llava_next", "llama"},
      {"llava_onevision", "qwen2"},
      {"mistral3", "mistral"},
      {"qwen2_vl", "qwen2_vl_text"},
      {"qwen2_5_vl", "qwen2_5_vl_text"},
      {"qwen3_5", "qwen3_5_text"},
      {"qwen3_5_moe", "qwen3_5_moe_text"},
      {"qwen3_vl", "qwen3_vl_text"},
      {"qwen3_vl_moe", "qwen3_vl_moe_text"},
  };
  return table;
}

// What text_config leaves out where it is as the text model's class of transformers has it.
const std::map<std::string, const char*>& defaults() {
  static const auto& table = *new std::map<std::string, const char*>{
      {"gemma3_text", R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
                          "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
                          "head_dim": 256, "max_position_embeddings": 131072})"},
      {"llama", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
                    "num_hidden_layers": 32, "num_attention_heads": 32})"},
      {"mistral", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
                      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
                      "max_position_embeddings": 131072})"},
      {"qwen2", R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
                    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
                    "max_position_embeddings": 32768})"},
  };
  return table;
}

bool is_of_other_parts(const std::string& key) {
  const auto keys = irrelevant_keys_of_other_parts();
  return std::any_of(keys.begin(), keys.end(), [&](const IrrelevantKey& known) { return key == known.name; });
}

}  // namespace

TextConfiguration text_configuration(const Json& config, const std::string& where) {
  const JsonFields fields(config, where);
  const std::string type = fields.text("model_type", "llama");
  const auto found = whole_models().find(type);
  if (found == whole_models().end()) {
    std::vector<std::string> names;
    for (const auto& item : whole_models()) names.push_back(item.first);
    WEFT_CHECK(!fields.has("text_config"),
               fmt::format("{}: the text part of '{}' models is not supported; weft has that of {}{}", where,
                           printable(type), fmt::join(names, ", "), did_you_mean(type, names)));
    return {config};
  }
  Json text = fields.has("text_config") ? fields.get("text_config") : config;
  WEFT_CHECK(text.is_object(), fmt::format("{}: text_config is not a JSON object", where));
  std::vector<std::string> others;
  for (const auto& item : text.items())
    if (is_of_other_parts(item.key())) others.push_back(item.key());
  for (const std::string& key : others) text.erase(key);
  if (!fields.has("text_config") || !text.contains("model_type")) text["model_type"] = found->second;
  const Json& own_type = text["model_type"];
  if (const auto known = defaults().find(own_type.is_string() ? own_type.get<std::string>() : "");
      known != defaults().end()) {
    const Json of_class = Json::parse(known->second);
    for (const auto& [key, value] : of_class.items())
      if (!text.contains(key)) text[key] = value;
  }
  // What the whole model says goes before what its text part says.
  for (const char* key : {"bos_token_id", "eos_token_id", "torch_dtype", "dtype", "quantization_config",
                          "quantization", "tie_word_embeddings"})
    if (fields.has(key)) text[key] = fields.get(key);
  if (text.contains("torch_dtype") && text.contains("dtype")) text.erase("dtype");
  for (const auto& [key, value] : config.items())
    if (text.contains(key) && text[key] == value) fields.pass_over(key.c_str());
  fields.pass_over("text_config");
  std::vector<IrrelevantKey> irrelevant;
  for (const auto& keys : {irrelevant_keys_of_other_parts(), irrelevant_config_keys()})
    irrelevant.insert(irrelevant.end(), keys.begin(), keys.end());
  fields.check_all_understood(irrelevant);
  return {std::move(text), type};
}

std::optional<std::string> name_in_text_part(const std::string& stored, const std::string& where) {
  static constexpr std::pair<const char*, const char*> kOfText[] = {{"model.language_model.", "model."},
                                                                    {"language_model.", ""}};
  static constexpr const char* kOthers[] = {"vision_tower.", "multi_modal_projector.", "vision_model.",
                                            "visual.",       "image_newline",          "mtp."};
  for (const auto& [before, instead] : kOfText)
    if (stored.starts_with(before)) return instead + stored.substr(std::string(before).size());
  const std::string inside = stored.starts_with("model.") ? stored.substr(6) : stored;
  for (const char* other : kOthers)
    if (inside.starts_with(other)) return std::nullopt;
  for (const char* own : {"layers.", "embed_tokens.", "norm.", "lm_head."})
    if (inside.starts_with(own)) return stored;
  throw_error(ErrorKind::Value,
              fmt::format("'{}': tensor '{}' is neither of the model's text part nor of another that weft "
                          "knows and passes over",
                          where, printable(stored)));
}

}  // namespace weft::models
