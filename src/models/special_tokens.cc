#include "models/special_tokens.h"

#include <utf8proc.h>

#include <algorithm>

namespace weft::models {
namespace {

struct SpecialCharacter {
  utf8proc_int32_t code = -1;  // -1: none
  size_t length = 0;           // bytes
};

SpecialCharacter first_of(std::string_view text) {
  SpecialCharacter character;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &character.code);
  if (length > 0) character.length = static_cast<size_t>(length);
  return character;
}

SpecialCharacter last_of(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && (static_cast<uint8_t>(text[--begin]) & 0xC0) == 0x80) {
  }
  return first_of(text.substr(begin));
}

// source: Unicode Technical Standard 18, annex C: \w.
bool is_word(utf8proc_int32_t code) {
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

// The property White_Space.
bool is_space(utf8proc_int32_t code) {
  if (code < 0) return false;
  if ((code >= 0x09 && code <= 0x0D) || code == 0x85) return true;
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

size_t space_at_start(std::string_view text) {
  size_t length = 0;
  for (SpecialCharacter c = first_of(text); is_space(c.code); c = first_of(text.substr(length)))
    length += c.length;
  return length;
}

size_t space_at_end(std::string_view text) {
  size_t length = 0;
  for (SpecialCharacter c = last_of(text); is_space(c.code);
       c = last_of(text.substr(0, text.size() - length)))
    length += c.length;
  return length;
}

}  // namespace

void SpecialTokens::add(const std::string& text, const SpecialToken& token) {
  if (text.empty()) return;
  tokens_[text] = token;
  is_special_[token.id] = token.is_special;
  longest_ = std::max(longest_, text.size());
  starts_[static_cast<uint8_t>(text[0])] = true;
}

std::vector<std::pair<std::string_view, std::optional<int64_t>>> SpecialTokens::split(std::string_view text,
                                                                                      bool special) const {
  std::vector<std::pair<std::string_view, std::optional<int64_t>>> parts;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    size_t length = starts_[static_cast<uint8_t>(text[i])] ? std::min(longest_, text.size() - i) : 0;
    auto found = tokens_.end();
    for (; length > 0 && found == tokens_.end(); --length)
      found = tokens_.find(text.substr(i, length));  // the longest wins
    if (found == tokens_.end()) {
      ++i;
      continue;
    }
    const SpecialToken& token = found->second;
    size_t start = i, stop = i + found->first.size();
    i = stop;
    if (token.is_special && !special) continue;
    if (token.is_single_word &&
        (is_word(last_of(text.substr(0, start)).code) || is_word(first_of(text.substr(stop)).code)))
      continue;
    // The token before may have taken the space that this one begins with.
    if (token.takes_right) stop += space_at_start(text.substr(stop));
    if (token.takes_left && stop <= begin) continue;
    if (token.takes_left && start > begin) start -= space_at_end(text.substr(begin, start - begin));
    if (start > begin) parts.push_back({text.substr(begin, start - begin), std::nullopt});
    parts.push_back({text.substr(start, stop - start), token.id});
    begin = std::max(begin, stop);
  }
  if (begin < text.size()) parts.push_back({text.substr(begin), std::nullopt});
  return parts;
}

std::optional<int64_t> SpecialTokens::find(std::string_view text) const {
  const auto found = tokens_.find(text);
  return found == tokens_.end() ? std::nullopt : std::optional(found->second.id);
}
bool SpecialTokens::is_special(int64_t id) const {
  const auto found = is_special_.find(id);
  return found != is_special_.end() && found->second;
}

}  // namespace weft::models
