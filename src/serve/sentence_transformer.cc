#include "serve/sentence_transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/printable.h"
#include "io/json.h"
#include "models/json_fields.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr const char *kModules = "modules.json", *kPooling = "1_Pooling",
                     *kPrompts = "config_sentence_transformers.json";

// The last part of a module's class: "Pooling" of "sentence_transformers.models.Pooling".
std::string kind_of(const std::string& type) { return type.substr(type.rfind('.') + 1); }

// source: Pooling of sentence-transformers, which puts what several of its modes give one behind another.
void read_pooling(const std::string& path, EmbeddingDefaults& defaults) {
  const Json json = read_json(path);
  const std::string where = fmt::format("'{}'", path);
  const models::JsonFields fields(json, where);
  std::vector<std::string> modes;
  for (const auto& [key, mode] : {std::pair{"pooling_mode_cls_token", "cls"},
                                  {"pooling_mode_mean_tokens", "mean"},
                                  {"pooling_mode_lasttoken", "lasttoken"},
                                  {"pooling_mode_max_tokens", "max"},
                                  {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
                                  {"pooling_mode_weightedmean_tokens", "weightedmean"}})
    if (fields.boolean(key, false)) modes.emplace_back(mode);
  if (modes.empty()) modes.push_back(fields.text("pooling_mode", "mean"));
  for (const char* key : {"word_embedding_dimension", "embedding_dimension"}) fields.pass_over(key);
  const bool has_prompts =
      std::ranges::any_of(defaults.prompts, [](const auto& each) { return !each.second.empty(); });
  if (!fields.boolean("include_prompt", true) && has_prompts)
    defaults.refusal = fmt::format("{} leaves prompts out of the mean", where);
  fields.check_all_understood({});
  if (modes.size() == 1 && modes[0] == "cls")
    defaults.pooling = Pooling::First;
  else if (modes.size() == 1 && modes[0] == "lasttoken")
    defaults.pooling = Pooling::Last;
  else if (modes.size() == 1 && modes[0] == "mean")
    defaults.pooling = Pooling::Mean;
  else
    defaults.refusal = fmt::format("{} pools by {}; weft has cls, mean and lasttoken", where,
                                   modes.size() > 1 ? "several modes" : printable(modes[0]));
}

void read_prompts(const std::string& path, EmbeddingDefaults& defaults) {
  const Json json = read_json(path);
  const std::string where = fmt::format("'{}'", path);
  const models::JsonFields fields(json, where);
  if (fields.has("prompts")) {
    const Json& prompts = fields.get("prompts");
    WEFT_CHECK(prompts.is_object(), where + ": prompts must be an object of texts by name");
    for (const auto& [name, prompt] : prompts.items()) {
      WEFT_CHECK(prompt.is_string(),
                 fmt::format("{}: the prompt '{}' must be a text", where, printable(name)));
      defaults.prompts[name] = prompt.get<std::string>();
    }
  }
  if (fields.has("default_prompt_name")) {
    const std::string name = fields.text("default_prompt_name", "");
    const auto found = defaults.prompts.find(name);
    WEFT_CHECK(found != defaults.prompts.end(),
               fmt::format("{}: default_prompt_name '{}' is none of its prompts", where, printable(name)));
    defaults.prompt = found->second;
  }
  // Of which versions wrote it, and how embeddings are compared.
  for (const char* key : {"__version__", "model_type", "similarity_fn_name"}) fields.pass_over(key);
  fields.check_all_understood({});
}

}  // namespace

EmbeddingDefaults read_embedding_defaults(const std::string& model) {
  namespace fs = std::filesystem;
  EmbeddingDefaults defaults;
  const fs::path folder(model), modules = folder / kModules;
  const auto read_pooling_in = [&](const fs::path& part) {
    const fs::path file = folder / part / "config.json";
    if (fs::exists(file)) read_pooling(file.string(), defaults);
  };
  if (const fs::path prompts = folder / kPrompts; fs::exists(prompts))
    read_prompts(prompts.string(), defaults);
  if (!fs::exists(modules)) {
    read_pooling_in(kPooling);
    return defaults;
  }
  const Json json = read_json(modules.string());
  const std::string where = fmt::format("'{}'", modules.string());
  WEFT_CHECK(json.is_array(), where + " must be a list of modules");
  defaults.is_normalized = false;
  for (const Json& module : json) {
    const models::JsonFields fields(module, where);
    const std::string kind = kind_of(fields.text("type", "")), path = fields.text("path", "");
    const fs::path part(path);
    bool is_inside = part.is_relative();
    for (const fs::path& step : part) is_inside = is_inside && step != "..";
    WEFT_CHECK(is_inside, fmt::format("{}: the path '{}' leads out of the folder", where, printable(path)));
    if (kind == "Pooling")
      read_pooling_in(part);
    else if (kind == "Normalize")
      defaults.is_normalized = true;
    else if (kind != "Transformer")
      defaults.refusal =
          fmt::format("{} has a module '{}', which weft does not compute", where, printable(kind));
    else
      WEFT_CHECK(path.empty() || path == ".",
                 fmt::format("{}: the model lies in '{}'; give that folder", where, printable(path)));
  }
  return defaults;
}

}  // namespace weft::serve
