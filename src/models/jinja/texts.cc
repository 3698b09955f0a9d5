#include "models/jinja/texts.h"

#include <utf8proc.h>

#include <algorithm>

#include "models/characters.h"

namespace weft::models::jinja {
namespace {

bool is_cased(int32_t code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

template <class Change>
std::string changed_text(std::string_view text, Change change) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const TextCharacter character = first_character(text);
    change(result, character.code);
    text.remove_prefix(std::max<size_t>(1, character.length));
  }
  return result;
}

// One character's; of those that become several, ß is in use.
void append_upper(std::string& text, int32_t code) {
  if (code == 0xDF)
    text += "SS";
  else
    append_character(text, utf8proc_toupper(code));
}
void append_title(std::string& text, int32_t code) {
  if (code == 0xDF)
    text += "Ss";
  else
    append_character(text, utf8proc_totitle(code));
}
void append_lower(std::string& text, int32_t code) { append_character(text, utf8proc_tolower(code)); }

bool is_line_end(int32_t code) {
  return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
         code == 0x2029;
}

bool is_of_class(int32_t code, CharacterClass what) {
  const auto category = utf8proc_category(code);
  const bool is_alpha =
      is_cased(code) || category == UTF8PROC_CATEGORY_LM || category == UTF8PROC_CATEGORY_LO;
  const bool is_numeric = category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
                          category == UTF8PROC_CATEGORY_NO;
  switch (what) {
    case CharacterClass::Alpha: return is_alpha;
    case CharacterClass::Alnum: return is_alpha || is_numeric;
    case CharacterClass::Ascii: return code < 0x80;
    case CharacterClass::Decimal: return category == UTF8PROC_CATEGORY_ND;
    case CharacterClass::Digit:  // with superscripts
      return category == UTF8PROC_CATEGORY_ND || code == 0xB2 || code == 0xB3 || code == 0xB9 ||
             code == 0x2070 || (code >= 0x2074 && code <= 0x2079) || (code >= 0x2080 && code <= 0x2089);
    case CharacterClass::Numeric: return is_numeric;
    case CharacterClass::Space: return is_python_space(code);
    case CharacterClass::Printable:
      switch (category) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP: return false;
        case UTF8PROC_CATEGORY_ZS: return code == ' ';
        default: return true;
      }
  }
  return false;
}

std::vector<std::string_view> split_at_space(std::string_view text, int64_t most, bool from_right) {
  std::vector<std::string_view> parts;
  const auto strip = [&] { text = stripped(text, !from_right, from_right); };
  for (strip(); !text.empty(); strip()) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(stripped(text, true, true).empty() ? text : stripped(text, !from_right, from_right));
      break;
    }
    std::string_view left = text;
    if (!from_right) {
      while (!left.empty() && !is_python_space(first_character(left).code))
        left.remove_prefix(std::max<size_t>(1, first_character(left).length));
      parts.push_back(text.substr(0, text.size() - left.size()));
    } else {
      while (!left.empty() && !is_python_space(last_character(left).code))
        left.remove_suffix(std::max<size_t>(1, last_character(left).length));
      parts.push_back(text.substr(left.size()));
    }
    text = left;
  }
  return parts;
}

}  // namespace

size_t character_count(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
    result.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

std::string_view text_between(std::string_view text, int64_t begin, int64_t end) {
  const auto count = static_cast<int64_t>(character_count(text));
  const auto cut = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count); };
  begin = cut(begin), end = cut(end);
  if (begin >= end) return "";
  size_t from = 0, to = 0;
  int64_t position = -1;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] & 0xC0) == 0x80) continue;
    ++position;
    if (position == begin) from = i;
    if (position == end) {
      to = i;
      break;
    }
  }
  return text.substr(from, to - from);
}

bool is_python_space(int32_t code) { return is_space_character(code) || (code >= 0x1C && code <= 0x1F); }

std::string_view stripped(std::string_view text, bool left, bool right, std::optional<std::string_view> of) {
  std::vector<std::string_view> set;
  if (of) set = characters(*of);
  const auto goes = [&](const TextCharacter& character, std::string_view bytes) {
    return of ? std::find(set.begin(), set.end(), bytes) != set.end() : is_python_space(character.code);
  };
  while (left && !text.empty()) {
    const TextCharacter character = first_character(text);
    if (character.length == 0 || !goes(character, text.substr(0, character.length))) break;
    text.remove_prefix(character.length);
  }
  while (right && !text.empty()) {
    const TextCharacter character = last_character(text);
    if (character.length == 0 || !goes(character, text.substr(text.size() - character.length))) break;
    text.remove_suffix(character.length);
  }
  return text;
}

std::string upper_text(std::string_view text) { return changed_text(text, append_upper); }
std::string lower_text(std::string_view text) { return changed_text(text, append_lower); }

std::string title_text(std::string_view text) {
  bool is_inside = false;
  return changed_text(text, [&](std::string& result, int32_t code) {
    is_inside ? append_lower(result, code) : append_title(result, code);
    is_inside = is_cased(code);
  });
}

std::string capitalized_text(std::string_view text) {
  bool is_first = true;
  return changed_text(text, [&](std::string& result, int32_t code) {
    is_first ? append_title(result, code) : append_lower(result, code);
    is_first = false;
  });
}

std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const TextCharacter character = first_character(text.substr(i));
    size_t next = i + std::max<size_t>(1, character.length);
    if (!is_line_end(character.code)) {
      i = next;
      continue;
    }
    if (character.code == '\r' && next < text.size() && text[next] == '\n') ++next;
    lines.push_back(text.substr(begin, (keep_ends ? next : i) - begin));
    begin = i = next;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::vector<std::string_view> split_text(std::string_view text, std::optional<std::string_view> separator,
                                         int64_t most, bool from_right) {
  std::vector<std::string_view> parts;
  if (!separator) {
    parts = split_at_space(text, most, from_right);
  } else {
    while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
      const size_t at = from_right ? text.rfind(*separator) : text.find(*separator);
      if (at == std::string_view::npos) break;
      parts.push_back(from_right ? text.substr(at + separator->size()) : text.substr(0, at));
      text = from_right ? text.substr(0, at) : text.substr(at + separator->size());
    }
    parts.push_back(text);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

std::string replaced_text(std::string_view text, std::string_view old, std::string_view by, int64_t most) {
  std::string result;
  if (old.empty()) {  // between all characters
    const auto all = characters(text);
    for (size_t i = 0; i <= all.size(); ++i) {
      if (most < 0 || static_cast<int64_t>(i) < most) result += by;
      if (i < all.size()) result += all[i];
    }
    return result;
  }
  for (int64_t count = 0; most < 0 || count < most; ++count) {
    const size_t at = text.find(old);
    if (at == std::string_view::npos) break;
    result += text.substr(0, at);
    result += by;
    text.remove_prefix(at + old.size());
  }
  return result += text;
}

std::string html_escaped(std::string_view text) {
  std::string result;
  for (const char byte : text) switch (byte) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '\'': result += "&#39;"; break;
      case '"': result += "&#34;"; break;
      default: result += byte;
    }
  return result;
}

bool is_all(std::string_view text, CharacterClass what) {
  if (text.empty()) return what == CharacterClass::Ascii || what == CharacterClass::Printable;
  while (!text.empty()) {
    const TextCharacter character = first_character(text);
    if (character.length == 0 || !is_of_class(character.code, what)) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

namespace {

bool has_one_case(std::string_view text, utf8proc_category_t wrong) {
  bool is_any = false;
  while (!text.empty()) {
    const TextCharacter character = first_character(text);
    text.remove_prefix(std::max<size_t>(1, character.length));
    if (!is_cased(character.code)) continue;
    const auto category = utf8proc_category(character.code);
    if (category == wrong || category == UTF8PROC_CATEGORY_LT) return false;
    is_any = true;
  }
  return is_any;
}

}  // namespace

bool is_lower_text(std::string_view text) { return has_one_case(text, UTF8PROC_CATEGORY_LU); }
bool is_upper_text(std::string_view text) { return has_one_case(text, UTF8PROC_CATEGORY_LL); }

bool is_title_text(std::string_view text) {
  bool is_inside = false, is_any = false;
  while (!text.empty()) {
    const TextCharacter character = first_character(text);
    text.remove_prefix(std::max<size_t>(1, character.length));
    const bool is_letter = is_cased(character.code);
    const bool is_small = is_letter && utf8proc_category(character.code) == UTF8PROC_CATEGORY_LL;
    if (is_letter && is_small != is_inside) return false;
    is_any = is_any || is_letter;
    is_inside = is_letter;
  }
  return is_any;
}

}  // namespace weft::models::jinja
