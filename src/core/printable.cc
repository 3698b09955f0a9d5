#include "core/printable.h"

#include <fmt/format.h>

#include <cstdint>

namespace weft {
namespace {

// Bytes of the character that `text` begins with; 0 for what is no UTF-8.
// source: table 3-7 of the Unicode standard, well-formed UTF-8 byte sequences.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length > text.size()) return 0;
  uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) < low || byte(i) > high) return 0;
    low = 0x80, high = 0xBF;
  }
  return length;
}

// U+0000 to U+001F and U+007F to U+009F.
bool is_control(std::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  if (character.size() == 2) return first == 0xC2 && static_cast<uint8_t>(character[1]) < 0xA0;
  return character.size() == 1 && (first < 0x20 || first == 0x7F);
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text, size_t limit) {
  std::string result;
  while (!text.empty()) {
    const size_t length = character_length(text);
    const bool is_shown = length > 0 && !is_control(text.substr(0, length));
    const std::string_view bytes = text.substr(0, length > 0 ? length : 1);
    std::string shown;
    if (is_shown) shown = bytes;
    for (size_t i = 0; !is_shown && i < bytes.size(); ++i)
      shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(bytes[i]));
    if (result.size() + shown.size() > limit) return result + "…";
    result += shown;
    text.remove_prefix(bytes.size());
  }
  return result;
}

}  // namespace weft
