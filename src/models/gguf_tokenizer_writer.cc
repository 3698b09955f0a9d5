// A folder's tokenizer as metadata of a GGUF file.
#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <filesystem>
#include <map>

#include "core/printable.h"
#include "models/gguf_architecture.h"
#include "models/gguf_writer.h"
#include "models/text_steps.h"
#include "models/tokenizers.h"
#include "runtime/files.h"
#include "weft/error.h"

namespace weft::models {
namespace {

namespace fs = std::filesystem;
using TokenizerMetadata = nlohmann::ordered_json;

void set_value(TokenizerMetadata& metadata, const char* key, TokenizerMetadata value) {
  metadata[std::string("tokenizer.ggml.") + key] = std::move(value);
}

void add_sentencepiece(const std::string& path, TokenizerMetadata& metadata) {
  sentencepiece::SentencePieceProcessor processor;
  const auto status = processor.Load(path);
  WEFT_CHECK(status.ok(), fmt::format("tokenizer '{}': not a SentencePiece model: {}", path,
                                      printable(status.ToString())));
  TokenizerMetadata tokens = TokenizerMetadata::array(), scores = tokens, kinds = tokens;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    tokens.push_back(processor.IdToPiece(id));
    scores.push_back(static_cast<double>(processor.GetScore(id)));
    kinds.push_back(processor.IsUnknown(id)   ? 2
                    : processor.IsControl(id) ? 3
                    : processor.IsUnused(id)  ? 5
                    : processor.IsByte(id)    ? 6
                                              : 1);
  }
  set_value(metadata, "model", "llama");
  set_value(metadata, "tokens", tokens);
  set_value(metadata, "scores", scores);
  set_value(metadata, "token_type", kinds);
  set_value(metadata, "unknown_token_id", processor.unk_id());
  std::vector<int> probe;
  const bool prefixes = processor.Encode("a", &probe).ok() && !probe.empty() &&
                        processor.IdToPiece(probe[0]).starts_with(kMetaspace);
  set_value(metadata, "add_space_prefix", prefixes);
  set_value(metadata, "add_bos_token", processor.bos_id() >= 0);
}

// The name of the patterns that a tokenizer.json splits by.
std::string pre_tokenizer_name(const Json& description, const std::string& path) {
  std::vector<std::string> patterns;
  const auto add = [&](const Json& step) {
    const std::string type = step.value("type", "");
    if (type == "Split" && step["pattern"].contains("Regex")) {
      patterns.push_back(step["pattern"]["Regex"].get<std::string>());
    } else if (type == "Digits") {
      patterns.push_back(R"(\p{N})");
    } else {
      WEFT_CHECK(type == "ByteLevel",
                 fmt::format("tokenizer '{}': weft writes no GGUF file with the pre-tokenizer '{}'", path,
                             printable(type)));
      if (step.value("use_regex", true)) patterns.emplace_back();
    }
  };
  if (description.is_object() && description.contains("pretokenizers"))
    for (const Json& step : description["pretokenizers"]) add(step);
  else
    add(description);
  for (const char* usual : {"gpt-2", "llama-bpe", "qwen2"})
    if (gguf_pre_tokenizers().at(usual) == patterns) return usual;
  for (const auto& [name, known] : gguf_pre_tokenizers())
    if (known == patterns) return name;
  throw_error(ErrorKind::Value,
              fmt::format("tokenizer '{}': llama.cpp has no name for its pre-tokenizer's patterns", path));
}

void add_byte_pairs(const std::string& path, TokenizerMetadata& metadata) {
  const Json json = read_json(path);
  WEFT_CHECK(
      json.is_object() && json.contains("model") && json["model"].is_object() &&
          json["model"].value("type", "BPE") == "BPE" && json["model"].contains("vocab") &&
          json["model"].contains("merges") && !json["model"].value("byte_fallback", false),
      fmt::format(
          "tokenizer '{}': weft writes GGUF files with byte pairs, or with a tokenizer.model beside it",
          path));
  std::map<int64_t, std::pair<std::string, int>> tokens;
  for (const auto& [token, id] : json["model"]["vocab"].items()) tokens[id.get<int64_t>()] = {token, 1};
  if (json.contains("added_tokens"))
    for (const Json& token : json["added_tokens"])
      tokens[token["id"].get<int64_t>()] = {token["content"].get<std::string>(),
                                            token.value("special", false) ? 3 : 4};
  TokenizerMetadata names = TokenizerMetadata::array(), kinds = names, merges = names;
  for (const auto& [id, token] : tokens) {
    for (auto gap = static_cast<int64_t>(names.size()); gap < id; ++gap) {
      names.push_back(fmt::format("[PAD{}]", gap));
      kinds.push_back(5);
    }
    names.push_back(token.first);
    kinds.push_back(token.second);
  }
  for (const Json& merge : json["model"]["merges"])
    merges.push_back(merge.is_string() ? merge.get<std::string>()
                                       : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  set_value(metadata, "model", "gpt2");
  set_value(metadata, "pre",
            pre_tokenizer_name(json.contains("pre_tokenizer") ? json["pre_tokenizer"] : Json(), path));
  set_value(metadata, "tokens", names);
  set_value(metadata, "token_type", kinds);
  set_value(metadata, "merges", merges);
}

}  // namespace

void add_gguf_tokenizer(const std::string& folder, const DecoderConfig& config, TokenizerMetadata& metadata) {
  const fs::path root = folder;
  std::error_code ignored;
  const auto tokenizer = Tokenizer::open(folder);
  if (fs::exists(root / "tokenizer.model", ignored)) {
    add_sentencepiece(root / "tokenizer.model", metadata);
  } else {
    add_byte_pairs(root / "tokenizer.json", metadata);
    set_value(metadata, "add_bos_token", !tokenizer->encode("", true).empty());
  }
  const auto bos = config.bos_token_id ? config.bos_token_id : tokenizer->bos_id();
  if (bos) set_value(metadata, "bos_token_id", *bos);
  const std::vector<int64_t> ends =
      config.eos_token_ids.empty() ? tokenizer->eos_ids() : config.eos_token_ids;
  const char* const keys[] = {"eos_token_id", "eot_token_id", "eom_token_id"};
  for (size_t i = 0; i < std::min(ends.size(), std::size(keys)); ++i) set_value(metadata, keys[i], ends[i]);
  // The template for conversations, where the folder has one.
  std::string text;
  if (fs::exists(root / "chat_template.jinja", ignored))
    text = runtime::read_file((root / "chat_template.jinja").string()).value_or("");
  else if (fs::exists(root / "tokenizer_config.json", ignored)) {
    const Json json = read_json(root / "tokenizer_config.json");
    if (json.is_object() && json.contains("chat_template") && json["chat_template"].is_string())
      text = json["chat_template"].get<std::string>();
  }
  if (!text.empty()) metadata["tokenizer.chat_template"] = text;
}

}  // namespace weft::models
