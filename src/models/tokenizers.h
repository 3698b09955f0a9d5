// The three kinds of tokenizer.
#pragma once

#include <memory>
#include <string>

#include "weft/models/tokenizer.h"

namespace weft::models {

std::shared_ptr<Tokenizer> open_sentencepiece(const std::string& path);
std::shared_ptr<Tokenizer> open_tiktoken(const std::string& path);
std::shared_ptr<Tokenizer> open_tokenizer_json(const std::string& path);
// The same from memory; `name` is for messages.
std::shared_ptr<Tokenizer> parse_sentencepiece(const std::string& bytes, const std::string& name);
std::shared_ptr<Tokenizer> parse_tiktoken(const std::string& text, const std::string& name);
std::shared_ptr<Tokenizer> parse_tokenizer_json(const std::string& text, const std::string& name);

}  // namespace weft::models
