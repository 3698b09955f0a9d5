#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "core/printable.h"
#include "models/sentencepiece_check.h"
#include "models/special_tokens.h"
#include "models/text_steps.h"
#include "models/tokenizers.h"
#include "weft/error.h"

namespace weft::models {
namespace {

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(const std::string& bytes, const std::string& name, bool adds_bos)
      : adds_bos_(adds_bos) {
    check_sentencepiece(bytes, name);
    const auto status = processor_.LoadFromSerializedProto(bytes);
    WEFT_CHECK(status.ok(), fmt::format("tokenizer '{}': not a SentencePiece model: {}", name,
                                        printable(status.ToString())));
    std::vector<int> probe;
    strips_ = processor_.Encode("a", &probe).ok() && !probe.empty() &&
              processor_.IdToPiece(probe[0]).starts_with(kMetaspace);
    for (int id = 0; id < processor_.GetPieceSize(); ++id)
      if (processor_.IsControl(id)) special_.add(processor_.IdToPiece(id), {.id = id});
  }

  int64_t vocab_size() const override { return processor_.GetPieceSize(); }
  std::vector<int64_t> encode(std::string_view text, bool add_bos, bool special) const override {
    WEFT_CHECK(is_utf8(text), "encode: the text is not valid UTF-8");
    std::vector<int64_t> ids;
    if (add_bos && adds_bos_ && bos_id()) ids.push_back(*bos_id());
    for (const auto& [part, id] : special_.split(text, special)) {
      if (id) {
        ids.push_back(*id);
        continue;
      }
      std::vector<int> pieces;
      const auto status = processor_.Encode(absl::string_view(part.data(), part.size()), &pieces);
      WEFT_CHECK(status.ok(), fmt::format("encode: {}", printable(status.ToString())));
      ids.insert(ids.end(), pieces.begin(), pieces.end());
    }
    return ids;
  }
  std::string token_bytes(int64_t id) const override {
    WEFT_CHECK_INDEX(id >= 0 && id < vocab_size(),
                     fmt::format("token id {} is outside the vocabulary of {}", id, vocab_size()));
    const int piece = static_cast<int>(id);
    std::string text = processor_.IdToPiece(piece);
    if (processor_.IsByte(piece))
      return std::string(1, static_cast<char>(std::stoi(text.substr(3, 2), nullptr, 16)));
    if (is_special(id)) return "";
    return replace_all(std::move(text), kMetaspace, " ");
  }
  std::optional<int64_t> token_id(std::string_view token) const override {
    const int id = processor_.PieceToId(absl::string_view(token.data(), token.size()));
    if (processor_.IdToPiece(id) != token) return std::nullopt;
    return id;
  }
  bool is_special(int64_t id) const override {
    return id >= 0 && id < vocab_size() && processor_.IsControl(static_cast<int>(id));
  }
  std::vector<std::string> special_texts() const override { return special_.special_texts(); }
  bool strips_first_space() const override { return strips_; }
  std::optional<int64_t> bos_id() const override { return known(processor_.bos_id()); }
  std::vector<int64_t> eos_ids() const override {
    const std::optional<int64_t> id = known(processor_.eos_id());
    return id ? std::vector{*id} : std::vector<int64_t>{};
  }

 private:
  static std::optional<int64_t> known(int id) { return id < 0 ? std::nullopt : std::optional<int64_t>(id); }
  sentencepiece::SentencePieceProcessor processor_;
  SpecialTokens special_;
  bool adds_bos_, strips_ = false;
};

}  // namespace

std::shared_ptr<Tokenizer> parse_sentencepiece(const std::string& bytes, const std::string& name,
                                               bool adds_bos) {
  return std::make_shared<SentencePieceTokenizer>(bytes, name, adds_bos);
}

}  // namespace weft::models
