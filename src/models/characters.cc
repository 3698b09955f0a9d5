#include "models/characters.h"

#include <utf8proc.h>

namespace weft::models {

TextCharacter first_character(std::string_view text) {
  TextCharacter character;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &character.code);
  if (length > 0) character.length = static_cast<size_t>(length);
  return character;
}

TextCharacter last_character(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && (static_cast<uint8_t>(text[--begin]) & 0xC0) == 0x80) {
  }
  return first_character(text.substr(begin));
}

bool is_word_character(int32_t code) {
  if (code < 0) return false;
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC: return true;
    default: return code == 0x200C || code == 0x200D;
  }
}

bool is_space_character(int32_t code) {
  if (code < 0) return false;
  if ((code >= 0x09 && code <= 0x0D) || code == 0x85) return true;
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

void append_character(std::string& text, int32_t code) {
  utf8proc_uint8_t bytes[4];
  const auto length = code >= 0 && utf8proc_codepoint_valid(code) ? utf8proc_encode_char(code, bytes) : 0;
  if (length > 0)
    text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
  else
    text += "\xEF\xBF\xBD";
}

}  // namespace weft::models
