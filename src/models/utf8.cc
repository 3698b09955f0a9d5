#include <cstdint>

#include "core/printable.h"
#include "weft/models/tokenizer.h"

namespace weft::models {
namespace {

struct Character {
  size_t length = 0;  // bytes of it, of the invalid part otherwise
  bool is_valid = false;
  bool is_cut = false;  // valid so far, and the text ends
};

// source: table 3-7 of the Unicode standard, well-formed UTF-8 byte sequences.
Character character_at(std::string_view bytes, size_t position) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[position + i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {1, true, false};
  if (first < 0xC2 || first > 0xF4) return {1, false, false};
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  const uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (position + i == bytes.size()) return {i, false, true};
    const bool follows = i == 1 ? byte(i) >= low && byte(i) <= high : byte(i) >= 0x80 && byte(i) <= 0xBF;
    if (!follows) return {i, false, false};
  }
  return {length, true, false};
}

}  // namespace

size_t whole_characters(std::string_view bytes) {
  size_t position = 0;
  while (position < bytes.size()) {
    const Character character = character_at(bytes, position);
    if (character.is_cut) return position;
    position += character.length;
  }
  return position;
}

bool is_utf8(std::string_view bytes) { return weft::is_utf8(bytes); }

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string result;
  for (size_t position = 0; position < bytes.size();) {
    const Character character = character_at(bytes, position);
    if (character.is_valid)
      result.append(bytes.substr(position, character.length));
    else
      result += "\xEF\xBF\xBD";
    position += character.length;
  }
  return result;
}

}  // namespace weft::models
