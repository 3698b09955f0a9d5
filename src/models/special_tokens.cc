#include "models/special_tokens.h"

#include <algorithm>

#include "models/characters.h"

namespace weft::models {
namespace {

size_t space_at_start(std::string_view text) {
  size_t length = 0;
  for (TextCharacter c = first_character(text); is_space_character(c.code);
       c = first_character(text.substr(length)))
    length += c.length;
  return length;
}

size_t space_at_end(std::string_view text) {
  size_t length = 0;
  for (TextCharacter c = last_character(text); is_space_character(c.code);
       c = last_character(text.substr(0, text.size() - length)))
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
    if (token.is_single_word && (is_word_character(last_character(text.substr(0, start)).code) ||
                                 is_word_character(first_character(text.substr(stop)).code)))
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
std::vector<std::string> SpecialTokens::special_texts() const {
  std::vector<std::string> texts;
  for (const auto& [text, token] : tokens_)
    if (token.is_special) texts.push_back(text);
  return texts;
}
bool SpecialTokens::is_special(int64_t id) const {
  const auto found = is_special_.find(id);
  return found != is_special_.end() && found->second;
}

}  // namespace weft::models
