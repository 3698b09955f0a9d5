// The tokenizer in a GGUF file's metadata: as SentencePiece's model, or as a tokenizer.json of byte pairs.
// source: llama-vocab.cpp of llama.cpp, whose names of pre-tokenizers and patterns these are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <map>

#include "core/printable.h"
#include "core/suggest.h"
#include "models/gguf_architecture.h"
#include "models/gguf_model.h"
#include "models/tokenizers.h"
#include "weft/error.h"

namespace weft::models {
namespace {

constexpr int kNormalPiece = 1, kUnknownPiece = 2, kControlPiece = 3, kUserPiece = 4,
              kBytePiece = 6;  // kinds of tokens

constexpr const char* kGpt2 = "";  // the words of the ByteLevel step itself
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

}  // namespace

const std::map<std::string, std::vector<std::string>>& gguf_pre_tokenizers() {
  static const auto& table = *new std::map<std::string, std::vector<std::string>>{
      {"gpt-2", {kGpt2}},
      {"phi-2", {kGpt2}},
      {"mpt", {kGpt2}},
      {"olmo", {kGpt2}},
      {"jais", {kGpt2}},
      {"granite-docling", {kGpt2}},
      {"starcoder", {R"(\p{N})", kGpt2}},
      {"refact", {R"(\p{N})", kGpt2}},
      {"command-r", {R"(\p{N})", kGpt2}},
      {"smollm", {R"(\p{N})", kGpt2}},
      {"codeshell", {R"(\p{N})", kGpt2}},
      {"exaone", {R"(\p{N})", kGpt2}},
      {"llama-bpe", {kLlama3}},
      {"llama3", {kLlama3}},
      {"llama-v3", {kLlama3}},
      {"falcon3", {kLlama3}},
      {"pixtral", {kLlama3}},
      {"lfm2", {kLlama3}},
      {"dbrx", {kLlama3}},
      {"smaug-bpe", {kLlama3}},
      {"chatglm-bpe", {kLlama3}},
      {"glm4", {kLlama3}},
      {"qwen2", {kQwen2}},
      {"stablelm2", {kQwen2}},
      {"deepseek-r1-qwen", {kQwen2}},
      {"megrez", {kQwen2}},
      {"tekken", {kTekken}},
      {"gpt-4o", {kGpt4o}},
      {"llama4", {kGpt4o}},
  };
  return table;
}

namespace {

class Vocabulary {
 public:
  explicit Vocabulary(const GgufFile& file)
      : file_(file), where_(fmt::format("GGUF file '{}'", file.path())) {
    const Json& list = get("tokens");
    check(list.is_array() && !list.empty(), "'tokenizer.ggml.tokens' is not a list of texts");
    for (const Json& token : list) {
      check(token.is_string(), "'tokenizer.ggml.tokens' is not a list of texts");
      tokens.push_back(token.get<std::string>());
    }
    kinds.assign(tokens.size(), kNormalPiece);
    if (has("token_type")) {
      const Json& of_tokens = get("token_type");
      check_length("token_type", of_tokens);
      for (size_t i = 0; i < tokens.size(); ++i) {
        check(of_tokens[i].is_number_integer() && of_tokens[i] >= 0 && of_tokens[i] <= kBytePiece,
              fmt::format("token {} has a kind that there is not", i));
        kinds[i] = of_tokens[i].get<int>();
      }
    }
    bos = id("bos_token_id"), eos = id("eos_token_id"), unknown = id("unknown_token_id");
  }

  bool has(const std::string& key) const { return file_.metadata().contains("tokenizer.ggml." + key); }
  const Json& get(const std::string& key) const {
    check(has(key), fmt::format("no 'tokenizer.ggml.{}'", key));
    return file_.metadata()["tokenizer.ggml." + key];
  }
  bool flag(const std::string& key, bool fallback) const {
    if (!has(key)) return fallback;
    check(get(key).is_boolean(), fmt::format("'tokenizer.ggml.{}' is not a boolean", key));
    return get(key).get<bool>();
  }
  std::string text(const std::string& key, const std::string& fallback) const {
    if (!has(key)) return fallback;
    check(get(key).is_string(), fmt::format("'tokenizer.ggml.{}' is not a text", key));
    return get(key).get<std::string>();
  }
  void check_length(const std::string& key, const Json& list) const {
    check(list.is_array() && list.size() == tokens.size(),
          fmt::format("'tokenizer.ggml.{}' has {} entries for {} tokens", key, list.size(), tokens.size()));
  }
  void check(bool condition, const std::string& why) const {
    WEFT_CHECK(condition, fmt::format("{}: {}", where_, why));
  }
  const std::string& path() const { return file_.path(); }

  std::vector<std::string> tokens;
  std::vector<int> kinds;
  std::optional<int64_t> bos, eos, unknown;

 private:
  std::optional<int64_t> id(const std::string& key) const {
    if (!has(key)) return std::nullopt;
    const Json& value = get(key);
    check(value.is_number_integer() && value >= 0 && value < tokens.size(),
          fmt::format("'tokenizer.ggml.{}' is {}, the vocabulary has {} tokens", key, printable(value.dump()),
                      tokens.size()));
    return value.get<int64_t>();
  }

  const GgufFile& file_;
  std::string where_;
};

// Messages of protocol buffers, as SentencePiece's models are written.
class Message {
 public:
  void number(uint64_t field, uint64_t value) { varint(field << 3), varint(value); }
  void text(uint64_t field, const std::string& bytes) {
    varint(field << 3 | 2), varint(bytes.size());
    bytes_ += bytes;
  }
  void real(uint64_t field, float value) {
    varint(field << 3 | 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int i = 0; i < 4; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>((value & 127) | 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// source: sentencepiece_model.proto.
std::shared_ptr<Tokenizer> sentencepiece(const Vocabulary& vocabulary) {
  const Json& scores = vocabulary.get("scores");
  vocabulary.check_length("scores", scores);
  Message model, trainer, normalizer;
  std::optional<int64_t> unknown = vocabulary.unknown;
  bool has_bytes = false;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    vocabulary.check(scores[i].is_number(), fmt::format("the score of token {} is not a number", i));
    int kind = vocabulary.kinds[i];
    if (kind == kUnknownPiece && !unknown) unknown = static_cast<int64_t>(i);
    if (kind == kUnknownPiece && unknown != static_cast<int64_t>(i))
      kind = kControlPiece;  // SentencePiece has one
    if (unknown == static_cast<int64_t>(i)) kind = kUnknownPiece;
    has_bytes = has_bytes || kind == kBytePiece;
    Message piece;
    piece.text(1, vocabulary.tokens[i]);
    piece.real(2, scores[i].get<float>());
    piece.number(3, static_cast<uint64_t>(kind == 0 ? kNormalPiece : kind));
    model.text(1, piece.bytes());
  }
  constexpr uint64_t kBytePairs = 2;
  trainer.number(3, kBytePairs);
  trainer.number(35, has_bytes ? 1 : 0);
  const auto name = [&](uint64_t id_field, uint64_t name_field, const std::optional<int64_t>& id) {
    trainer.number(id_field, static_cast<uint64_t>(id.value_or(-1)));
    if (id) trainer.text(name_field, vocabulary.tokens[static_cast<size_t>(*id)]);
  };
  name(40, 45, unknown), name(41, 46, vocabulary.bos), name(42, 47, vocabulary.eos);
  trainer.number(43, static_cast<uint64_t>(int64_t{-1}));
  normalizer.text(1, "identity");
  normalizer.number(3, vocabulary.flag("add_space_prefix", true) ? 1 : 0);
  normalizer.number(4, vocabulary.flag("remove_extra_whitespaces", false) ? 1 : 0);
  normalizer.number(5, 1);
  model.text(2, trainer.bytes());
  model.text(3, normalizer.bytes());
  return parse_sentencepiece(model.bytes(), vocabulary.path(), vocabulary.flag("add_bos_token", true));
}

std::shared_ptr<Tokenizer> byte_pairs(const Vocabulary& vocabulary) {
  const std::string pre = vocabulary.text("pre", "gpt-2");
  const auto found = gguf_pre_tokenizers().find(pre);
  std::vector<std::string> names;
  for (const auto& item : gguf_pre_tokenizers()) names.push_back(item.first);
  vocabulary.check(found != gguf_pre_tokenizers().end(),
                   fmt::format("the pre-tokenizer '{}' is not supported; weft has {}{}", printable(pre),
                               fmt::join(names, ", "), did_you_mean(pre, names)));
  Json steps = Json::array();
  for (const std::string& pattern : found->second)
    if (pattern != kGpt2)
      steps.push_back({{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}});
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", vocabulary.flag("add_space_prefix", false)},
                   {"use_regex", found->second.back() == kGpt2}});
  Json words = Json::object(), added = Json::array();
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string& token = vocabulary.tokens[i];
    vocabulary.check(words.emplace(token, i).second,
                     fmt::format("the token '{}' is there twice", printable(token)));
    const int kind = vocabulary.kinds[i];
    if (kind == kControlPiece || kind == kUserPiece || kind == kUnknownPiece)
      added.push_back(
          {{"content", token}, {"id", i}, {"special", kind != kUserPiece}, {"normalized", false}});
  }
  const Json& merges = vocabulary.get("merges");
  vocabulary.check(merges.is_array(), "'tokenizer.ggml.merges' is not a list");
  Json json = {{"model",
                {{"type", "BPE"},
                 {"vocab", std::move(words)},
                 {"merges", merges},
                 {"ignore_merges", found->second[0] == kLlama3 || pre == "tekken"}}},
               {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", steps}}},
               {"decoder", {{"type", "ByteLevel"}}},
               {"added_tokens", added}};
  const bool begins = vocabulary.flag("add_bos_token", found->second[0] == kLlama3);
  if (begins && vocabulary.bos) {
    const std::string& token = vocabulary.tokens[static_cast<size_t>(*vocabulary.bos)];
    json["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {{{"SpecialToken", {{"id", token}}}}, {{"Sequence", {{"id", "A"}}}}}}};
  }
  return make_tokenizer(json, vocabulary.path(), vocabulary.bos, vocabulary.eos);
}

}  // namespace

std::shared_ptr<Tokenizer> gguf_tokenizer(const GgufFile& file) {
  const Vocabulary vocabulary(file);
  const std::string model = vocabulary.text("model", "");
  if (model == "llama") return sentencepiece(vocabulary);
  if (model == "gpt2") return byte_pairs(vocabulary);
  throw_error(ErrorKind::Value,
              fmt::format("GGUF file '{}': the tokenizer '{}' is not supported; weft has llama and gpt2",
                          file.path(), printable(model)));
}

std::optional<std::string> gguf_chat_template(const GgufFile& file) {
  const auto found = file.metadata().find("tokenizer.chat_template");
  if (found == file.metadata().end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

}  // namespace weft::models
