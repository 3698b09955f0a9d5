// What a tokenizer.json does with a text before its words are looked up: normalizers and pre-tokenizers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace weft::models {

using Normalize = std::function<std::string(std::string)>;
// Text to words; `is_first`: it stands at the start of the whole text.
using PreTokenize = std::function<std::vector<std::string>(std::string text, bool is_first)>;

// `name` is for messages. ValueError for a type weft does not know. `null` gives the identity.
Normalize make_normalizer(const Json& description, const std::string& name);
PreTokenize make_pre_tokenizer(const Json& description, const std::string& name);
// Does the description, or one inside a Sequence, have this type?
bool has_step(const Json& description, std::string_view type);

// GPT-2's letters for bytes: printable bytes stand for themselves, the others for U+0100 and on.
std::string byte_to_letters(std::string_view bytes);
// Back; a letter that stands for no byte is kept as it is.
std::string letters_to_bytes(std::string_view letters);

std::string replace_all(std::string text, std::string_view from, std::string_view to);

inline constexpr const char* kMetaspace = "\xE2\x96\x81";  // U+2581

}  // namespace weft::models
