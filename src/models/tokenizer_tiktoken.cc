// tiktoken's vocabularies: a rank for every byte sequence; the pair with the lowest rank merges first.
#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "models/bpe.h"
#include "models/regex.h"
#include "models/special_tokens.h"
#include "models/tokenizers.h"
#include "weft/error.h"

namespace weft::models {
namespace {

constexpr size_t kMaxTokens = 1 << 22;

// source: Meta's Llama 3 tokenizer.
constexpr const char* kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::array<const char*, 11> kLlama3Special = {"<|begin_of_text|>",
                                                        "<|end_of_text|>",
                                                        "<|reserved_special_token_0|>",
                                                        "<|reserved_special_token_1|>",
                                                        "<|finetune_right_pad_id|>",
                                                        "<|step_id|>",
                                                        "<|start_header_id|>",
                                                        "<|end_header_id|>",
                                                        "<|eom_id|>",
                                                        "<|eot_id|>",
                                                        "<|python_tag|>"};
constexpr int64_t kNumSpecial = 256;

std::string from_base64(std::string_view text, const std::string& where) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  size_t padding = 0;
  for (const char c : text) {
    int value = -1;
    if (c >= 'A' && c <= 'Z')
      value = c - 'A';
    else if (c >= 'a' && c <= 'z')
      value = c - 'a' + 26;
    else if (c >= '0' && c <= '9')
      value = c - '0' + 52;
    else if (c == '+')
      value = 62;
    else if (c == '/')
      value = 63;
    if (c == '=') {
      ++padding;
      continue;
    }
    WEFT_CHECK(value >= 0 && padding == 0, fmt::format("{}: not base64", where));
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  WEFT_CHECK(text.size() % 4 == 0 && padding <= 2, fmt::format("{}: not base64", where));
  return bytes;
}

class TiktokenTokenizer : public Tokenizer {
 public:
  TiktokenTokenizer(std::string_view text, const std::string& name) : pattern_(kLlama3Pattern) {
    int64_t line_number = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++line_number;
      if (!line.empty()) add(line, fmt::format("tokenizer '{}': line {}", name, line_number));
    }
    WEFT_CHECK(!tokens_.empty(), fmt::format("tokenizer '{}': it has no tokens", name));
    for (int byte = 0; byte < 256; ++byte) {
      const auto found = ranks_.find(std::string(1, static_cast<char>(byte)));
      WEFT_CHECK(found != ranks_.end(), fmt::format("tokenizer '{}': no token for the byte {}", name, byte));
      bytes_[byte] = found->second;
    }
    add_special();
  }

  int64_t vocab_size() const override { return static_cast<int64_t>(tokens_.size()) + kNumSpecial; }
  std::vector<int64_t> encode(std::string_view text, bool add_bos, bool special) const override {
    WEFT_CHECK(is_utf8(text), "encode: the text is not valid UTF-8");
    std::vector<int64_t> ids;
    if (add_bos) ids.push_back(*bos_id());
    for (const auto& [part, id] : special_.split(text, special)) {
      if (id)
        ids.push_back(*id);
      else
        pattern_.for_each_match(part, [&, part = part](size_t begin, size_t end) {
          encode_word(part.substr(begin, end - begin), ids);
        });
    }
    return ids;
  }
  std::string token_bytes(int64_t id) const override {
    WEFT_CHECK_INDEX(id >= 0 && id < vocab_size(),
                     fmt::format("token id {} is outside the vocabulary of {}", id, vocab_size()));
    return id < static_cast<int64_t>(tokens_.size()) ? tokens_[static_cast<size_t>(id)] : "";
  }
  std::optional<int64_t> token_id(std::string_view token) const override {
    if (const auto id = special_.find(token)) return id;
    const auto found = ranks_.find(std::string(token));
    return found == ranks_.end() ? std::nullopt : std::optional(found->second);
  }
  bool is_special(int64_t id) const override { return special_.is_special(id); }
  std::vector<std::string> special_texts() const override { return special_.special_texts(); }
  std::optional<int64_t> bos_id() const override { return static_cast<int64_t>(tokens_.size()); }
  std::vector<int64_t> eos_ids() const override {
    return {*special_.find("<|end_of_text|>"), *special_.find("<|eot_id|>"), *special_.find("<|eom_id|>")};
  }

 private:
  void add(std::string_view line, const std::string& where) {
    const size_t space = line.find(' ');
    WEFT_CHECK(space != std::string_view::npos, fmt::format("{}: expected 'base64 rank'", where));
    int64_t rank = 0;
    for (const char c : line.substr(space + 1)) {
      if (c == '\r') continue;
      WEFT_CHECK(c >= '0' && c <= '9' && rank < static_cast<int64_t>(kMaxTokens),
                 fmt::format("{}: the rank is not a number below {}", where, kMaxTokens));
      rank = rank * 10 + (c - '0');
    }
    WEFT_CHECK(rank == static_cast<int64_t>(tokens_.size()),
               fmt::format("{}: rank {} comes where {} was expected", where, rank, tokens_.size()));
    tokens_.push_back(from_base64(line.substr(0, space), where));
    WEFT_CHECK(ranks_.emplace(tokens_.back(), rank).second, fmt::format("{}: the same token twice", where));
  }
  void add_special() {
    const int64_t first = static_cast<int64_t>(tokens_.size());
    int64_t id = first;
    for (const char* text : kLlama3Special) special_.add(text, {.id = id++});
    for (int64_t reserved = 2; id < first + kNumSpecial; ++reserved)
      special_.add(fmt::format("<|reserved_special_token_{}|>", reserved), {.id = id++});
  }
  void encode_word(std::string_view word, std::vector<int64_t>& ids) const {
    if (const auto found = ranks_.find(std::string(word)); found != ranks_.end()) {
      ids.push_back(found->second);
      return;
    }
    std::vector<int64_t> symbols;
    for (const char c : word) symbols.push_back(bytes_[static_cast<uint8_t>(c)]);
    BpeMerge merge{};
    const auto find = [&](int64_t left, int64_t right) -> const BpeMerge* {
      const auto found =
          ranks_.find(tokens_[static_cast<size_t>(left)] + tokens_[static_cast<size_t>(right)]);
      if (found == ranks_.end()) return nullptr;
      merge = {found->second, found->second};
      return &merge;
    };
    for (const int64_t id : merge_pairs(std::move(symbols), find)) ids.push_back(id);
  }

  Regex pattern_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int64_t> ranks_;
  std::array<int64_t, 256> bytes_{};
  SpecialTokens special_;
};

}  // namespace

std::shared_ptr<Tokenizer> parse_tiktoken(const std::string& text, const std::string& name) {
  return std::make_shared<TiktokenTokenizer>(text, name);
}

}  // namespace weft::models
