// tokenizer.json: byte-pair encoding with the steps around it that the file lists.
#include <fmt/format.h>

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "models/bpe.h"
#include "models/special_tokens.h"
#include "models/text_steps.h"
#include "models/tokenizers.h"
#include "weft/error.h"

namespace weft::models {
namespace {

constexpr int64_t kMaxId = int64_t{1} << 30;

class JsonTokenizer : public Tokenizer {
 public:
  JsonTokenizer(const Json& json, std::string name, std::optional<int64_t> bos, std::optional<int64_t> eos)
      : name_(std::move(name)), bos_(bos) {
    check(json.is_object() && json.contains("model") && json["model"].is_object(), "it has no 'model'");
    read_model(json["model"]);
    const Json none;
    const auto part = [&](const char* key) -> const Json& { return json.contains(key) ? json[key] : none; };
    normalize_ = make_normalizer(part("normalizer"), name_);
    read_added(json);
    pre_tokenize_ = make_pre_tokenizer(part("pre_tokenizer"), name_);
    is_byte_level_ = has_step(part("pre_tokenizer"), "ByteLevel") || has_step(part("decoder"), "ByteLevel");
    strips_ =
        !is_byte_level_ && (has_step(part("decoder"), "Strip") || has_step(part("decoder"), "Metaspace"));
    read_post_processor(part("post_processor"));
    if (eos) eos_.push_back(*eos);
    find_ends();
  }

  int64_t vocab_size() const override { return static_cast<int64_t>(tokens_.size()); }
  bool has_token(int64_t id) const override {
    return Tokenizer::has_token(id) && (!tokens_[static_cast<size_t>(id)].empty() || token_id("") == id);
  }

  std::vector<int64_t> encode(std::string_view text, bool add_bos, bool special) const override {
    WEFT_CHECK(is_utf8(text), "encode: the text is not valid UTF-8");
    std::vector<int64_t> ids;
    if (add_bos) ids = prefix_;
    bool is_first = true;
    const auto add_part = [&](std::string_view part, std::optional<int64_t> id) {
      if (id)
        ids.push_back(*id);
      else
        for (const std::string& word : pre_tokenize_(std::string(part), is_first)) encode_word(word, ids);
      is_first = false;
    };
    for (const auto& [part, id] : as_written_.split(text, special)) {
      if (id) {
        add_part(part, id);
        continue;
      }
      const std::string normal = normalize_(std::string(part));
      for (const auto& [normal_part, normal_id] : normalized_.split(normal, special))
        add_part(normal_part, normal_id);
    }
    return ids;
  }

  std::string token_bytes(int64_t id) const override {
    WEFT_CHECK_INDEX(id >= 0 && id < vocab_size(),
                     fmt::format("token id {} is outside the vocabulary of {}", id, vocab_size()));
    std::string token = tokens_[static_cast<size_t>(id)];
    if (added_.contains(id)) return token;
    if (is_byte_level_) return letters_to_bytes(token);
    if (byte_fallback_ && token.size() == 6 && token.starts_with("<0x") && token[5] == '>') {
      const int byte = hex(token[3]) * 16 + hex(token[4]);
      if (hex(token[3]) >= 0 && hex(token[4]) >= 0) return std::string(1, static_cast<char>(byte));
    }
    return replace_all(std::move(token), kMetaspace, " ");
  }

  std::optional<int64_t> token_id(std::string_view token) const override {
    const auto found = ids_.find(std::string(token));
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  bool is_special(int64_t id) const override {
    return as_written_.is_special(id) || normalized_.is_special(id);
  }
  bool strips_first_space() const override { return strips_; }
  std::optional<int64_t> bos_id() const override { return bos_; }
  std::vector<int64_t> eos_ids() const override { return eos_; }

 private:
  void check(bool condition, const std::string& why) const {
    WEFT_CHECK(condition, fmt::format("tokenizer '{}': {}", name_, why));
  }

  static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  }

  void set_token(const std::string& token, const Json& id) {
    check(id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < kMaxId,
          fmt::format("the id of '{}' is {}", token, id.dump()));
    const size_t position = static_cast<size_t>(id.get<int64_t>());
    // Ids have few gaps: a huge one is a mistake, not a reason to take its size in memory.
    check(position < 2 * ids_.size() + (1 << 20),
          fmt::format("the id {} of '{}' is far outside the vocabulary", position, token));
    if (position >= tokens_.size()) tokens_.resize(position + 1);
    tokens_[position] = token;
    ids_[token] = static_cast<int64_t>(position);
  }

  void read_model(const Json& model) {
    const std::string type =
        model.contains("type") && model["type"].is_string() ? model["type"].get<std::string>() : "BPE";
    check(type == "BPE", fmt::format("the model '{}' is not supported; weft has BPE", type));
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      check(!model.contains(key) || model[key].is_null() || model[key] == "",
            fmt::format("'{}' is not supported", key));
    check(model.contains("vocab") && model["vocab"].is_object(), "the model has no 'vocab'");
    ids_.reserve(model["vocab"].size());
    for (const auto& [token, id] : model["vocab"].items()) ids_[token] = 0;
    for (const auto& [token, id] : model["vocab"].items()) set_token(token, id);
    check(model.contains("merges") && model["merges"].is_array(), "the model has no 'merges'");
    int64_t rank = 0;
    for (const Json& merge : model["merges"]) read_merge(merge, rank++);
    const auto is_set = [&](const char* key) {
      return model.contains(key) && model[key].is_boolean() && model[key].get<bool>();
    };
    byte_fallback_ = is_set("byte_fallback");
    ignore_merges_ = is_set("ignore_merges");
    if (model.contains("unk_token") && model["unk_token"].is_string())
      unknown_ = token_id(model["unk_token"].get<std::string>());
    if (!byte_fallback_) return;
    for (int byte = 0; byte < 256; ++byte) {
      const auto found = ids_.find(fmt::format("<0x{:02X}>", byte));
      check(found != ids_.end(), fmt::format("byte_fallback without the token <0x{:02X}>", byte));
      bytes_[byte] = found->second;
    }
  }

  void read_merge(const Json& merge, int64_t rank) {
    std::string left, right;
    if (merge.is_string()) {
      const std::string& text = merge.get_ref<const std::string&>();
      const size_t space = text.find(' ');
      check(space != std::string::npos, fmt::format("merge {} is not a pair", rank));
      left = text.substr(0, space);
      right = text.substr(space + 1);
    } else {
      check(merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string(),
            fmt::format("merge {} is not a pair", rank));
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    }
    const auto id = [&](const std::string& token) {
      const auto found = ids_.find(token);
      check(found != ids_.end(),
            fmt::format("merge {} names '{}', which the vocabulary does not have", rank, token));
      return found->second;
    };
    const int64_t left_id = id(left), right_id = id(right);
    merges_.add(left_id, right_id, {rank, id(left + right)});
  }

  void read_added(const Json& json) {
    if (!json.contains("added_tokens")) return;
    check(json["added_tokens"].is_array(), "'added_tokens' is not a list");
    for (const Json& token : json["added_tokens"]) {
      check(token.is_object() && token.contains("content") && token["content"].is_string() &&
                token.contains("id"),
            "an added token has no content or id");
      const std::string content = token["content"].get<std::string>();
      set_token(content, token["id"]);
      const auto is_set = [&](const char* key) {
        return token.contains(key) && token[key].is_boolean() && token[key].get<bool>();
      };
      const SpecialToken added = {.id = token["id"].get<int64_t>(),
                                  .is_special = is_set("special"),
                                  .is_single_word = is_set("single_word"),
                                  .takes_left = is_set("lstrip"),
                                  .takes_right = is_set("rstrip")};
      added_.insert(added.id);
      if (is_set("normalized"))
        normalized_.add(normalize_(content), added);
      else
        as_written_.add(content, added);
    }
  }

  // Which tokens come before the text: of a TemplateProcessing, those before its sequence A.
  void read_post_processor(const Json& processor) {
    if (processor.is_null() || has_step(processor, "ByteLevel")) {
      if (!has_step(processor, "TemplateProcessing")) return;
    }
    check(processor.is_object() && processor.contains("type"), "the post-processor has no type");
    const std::string type = processor["type"].is_string() ? processor["type"].get<std::string>() : "";
    if (type == "Sequence") {
      check(processor.contains("processors") && processor["processors"].is_array(),
            "a Sequence without 'processors'");
      for (const Json& step : processor["processors"]) read_post_processor(step);
      return;
    }
    if (type == "ByteLevel") return;
    check(type == "TemplateProcessing", fmt::format("the post-processor '{}' is not supported", type));
    check(processor.contains("single") && processor["single"].is_array(), "a template without 'single'");
    for (const Json& part : processor["single"]) {
      if (!part.is_object() || !part.contains("SpecialToken")) break;
      check(part["SpecialToken"].is_object() && part["SpecialToken"].contains("id") &&
                part["SpecialToken"]["id"].is_string(),
            "a template's token has no id");
      const std::string token = part["SpecialToken"]["id"].get<std::string>();
      const auto id = token_id(token);
      check(id.has_value(),
            fmt::format("the template names '{}', which the vocabulary does not have", token));
      prefix_.push_back(*id);
    }
  }

  void find_ends() {
    if (!prefix_.empty() && !bos_) bos_ = prefix_[0];
    for (const char* token : {"<s>", "<|begin_of_text|>"})
      if (!bos_) bos_ = token_id(token);
    for (const char* token :
         {"</s>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|endoftext|>"})
      if (const auto id = token_id(token); id && added_.contains(*id) && (eos_.empty() || eos_[0] != *id))
        eos_.push_back(*id);
  }

  void encode_word(const std::string& word, std::vector<int64_t>& ids) const {
    if (ignore_merges_)
      if (const auto found = ids_.find(word); found != ids_.end()) {
        ids.push_back(found->second);
        return;
      }
    std::vector<int64_t> symbols;
    for (size_t i = 0; i < word.size();) {
      const uint8_t first = static_cast<uint8_t>(word[i]);
      const size_t length = std::min<size_t>(first < 0x80   ? 1
                                             : first < 0xE0 ? 2
                                             : first < 0xF0 ? 3
                                                            : 4,
                                             word.size() - i);
      add_character(word.substr(i, length), symbols);
      i += length;
    }
    const auto find = [this](int64_t left, int64_t right) { return merges_.find(left, right); };
    for (const int64_t id : merge_pairs(std::move(symbols), find)) ids.push_back(id);
  }

  void add_character(const std::string& character, std::vector<int64_t>& symbols) const {
    if (const auto found = ids_.find(character); found != ids_.end()) {
      symbols.push_back(found->second);
    } else if (byte_fallback_) {
      for (const char c : character) symbols.push_back(bytes_[static_cast<uint8_t>(c)]);
    } else {
      check(unknown_.has_value(), fmt::format("the text has '{}', for which there is no token", character));
      symbols.push_back(*unknown_);
    }
  }

  std::string name_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int64_t> ids_;
  MergeTable merges_;
  SpecialTokens as_written_, normalized_;  // looked for in the text before it is normalized, and after
  std::unordered_set<int64_t> added_;
  Normalize normalize_;
  PreTokenize pre_tokenize_;
  std::array<int64_t, 256> bytes_{};
  std::vector<int64_t> prefix_, eos_;
  std::optional<int64_t> bos_, unknown_;
  bool byte_fallback_ = false, ignore_merges_ = false, is_byte_level_ = false, strips_ = false;
};

}  // namespace

std::shared_ptr<Tokenizer> make_tokenizer(const Json& json, const std::string& name,
                                          std::optional<int64_t> bos, std::optional<int64_t> eos) {
  return std::make_shared<JsonTokenizer>(json, name, bos, eos);
}

std::shared_ptr<Tokenizer> parse_tokenizer_json(const std::string& text, const std::string& name) {
  return make_tokenizer(parse_json(text, fmt::format("tokenizer '{}'", name)), name);
}

}  // namespace weft::models
