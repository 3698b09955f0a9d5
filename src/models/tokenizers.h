// The kinds of tokenizer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/json.h"
#include "weft/models/tokenizer.h"

namespace weft::models {

std::shared_ptr<Tokenizer> open_sentencepiece(const std::string& path);
std::shared_ptr<Tokenizer> open_tiktoken(const std::string& path);
std::shared_ptr<Tokenizer> open_tokenizer_json(const std::string& path);
std::shared_ptr<Tokenizer> open_gguf_tokenizer(const std::string& path);
// The same from memory; `name` is for messages. `adds_bos`: encode() puts it where it is asked to.
std::shared_ptr<Tokenizer> parse_sentencepiece(const std::string& bytes, const std::string& name,
                                               bool adds_bos = true);
std::shared_ptr<Tokenizer> parse_tiktoken(const std::string& text, const std::string& name);
std::shared_ptr<Tokenizer> parse_tokenizer_json(const std::string& text, const std::string& name);
// Of a tokenizer.json that is parsed. Its first and last token, where they are not to be found by their
// names.
std::shared_ptr<Tokenizer> make_tokenizer(const Json& json, const std::string& name,
                                          std::optional<int64_t> bos = std::nullopt,
                                          std::optional<int64_t> eos = std::nullopt);

}  // namespace weft::models
