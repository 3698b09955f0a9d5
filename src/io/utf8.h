// Code points and their bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::io {

// False, and nothing appended, for what is no character: surrogates, and beyond U+10FFFF.
bool append_utf8(std::string& text, uint32_t code);
// nullopt for malformed text.
std::optional<std::u32string> decode_utf8(std::string_view text);

}  // namespace weft::io
