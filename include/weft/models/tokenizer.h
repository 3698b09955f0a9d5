// Text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::models {

class Tokenizer {
 public:
  // tokenizer.json (Hugging Face), tokenizer.model (SentencePiece, or tiktoken's ranks as Llama 3 has them)
  // of a model's folder, or one such file, or a GGUF file with its tokenizer. RuntimeError where there is
  // none; ValueError for parts weft does not know.
  static std::shared_ptr<Tokenizer> open(const std::string& folder_or_file);
  virtual ~Tokenizer() = default;

  virtual int64_t vocab_size() const = 0;
  // Does the id stand for a token? Not in a gap of the vocabulary, and not beyond it.
  virtual bool has_token(int64_t id) const { return id >= 0 && id < vocab_size(); }
  // Special tokens written in the text ("<|eot_id|>") become their ids only with `special`. ValueError for
  // text that is not UTF-8.
  virtual std::vector<int64_t> encode(std::string_view text, bool add_bos = true,
                                      bool special = false) const = 0;
  // The bytes of one token as they stand inside a text; may be a part of a character. IndexError for another
  // id.
  virtual std::string token_bytes(int64_t id) const = 0;
  // Special tokens are left out, and so are ids beyond the vocabulary, which pad models. Bytes that are no
  // UTF-8 become U+FFFD. IndexError for a negative id.
  std::string decode(const std::vector<int64_t>& ids) const;
  virtual std::optional<int64_t> token_id(std::string_view token) const = 0;
  virtual bool is_special(int64_t id) const = 0;
  // What the special tokens are written as: "<s>", "<|im_end|>".
  virtual std::vector<std::string> special_texts() const;
  // Does the first token of a text lose a leading space when decoded? (SentencePiece's dummy prefix.)
  virtual bool strips_first_space() const { return false; }
  virtual std::optional<int64_t> bos_id() const = 0;
  virtual std::vector<int64_t> eos_ids() const = 0;
};

// Tokens one after the other, as text: what is held back is a character that is not whole yet.
class StreamDecoder {
 public:
  // at_start: nothing stands before the first token. shown: special tokens that are given as text, which
  // others are not.
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool at_start = false,
                         std::vector<std::pair<int64_t, std::string>> shown = {})
      : tokenizer_(std::move(tokenizer)), shown_(std::move(shown)), is_first_(at_start) {}
  std::string push(int64_t id);  // the text that is whole now
  std::string finish();          // what was held back, U+FFFD for what never became whole

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string held_;
  std::vector<std::pair<int64_t, std::string>> shown_;
  bool is_first_;
};

// Length of the longest prefix of `bytes` that does not end inside a character.
size_t whole_characters(std::string_view bytes);
bool is_utf8(std::string_view bytes);
std::string replace_invalid_utf8(std::string_view bytes);

}  // namespace weft::models
