// Characters of UTF-8 text, and what kind they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::models {

struct TextCharacter {
  int32_t code = -1;  // -1: none, or no UTF-8
  size_t length = 0;  // bytes
};

TextCharacter first_character(std::string_view text);
TextCharacter last_character(std::string_view text);
// source: Unicode Technical Standard 18, annex C: \w.
bool is_word_character(int32_t code);
// The property White_Space.
bool is_space_character(int32_t code);
// The UTF-8 of a code, U+FFFD for what is none.
void append_character(std::string& text, int32_t code);

}  // namespace weft::models
