#include "models/special_tokens.h"

#include <algorithm>

namespace weft::models {

void SpecialTokens::add(const std::string& text, int64_t id, bool is_special) {
  if (text.empty()) return;
  tokens_[text] = {id, is_special};
  by_id_[id] = {text, is_special};
  longest_ = std::max(longest_, text.size());
  starts_[static_cast<uint8_t>(text[0])] = true;
}

std::vector<std::pair<std::string_view, std::optional<int64_t>>> SpecialTokens::split(std::string_view text, bool special) const {
  std::vector<std::pair<std::string_view, std::optional<int64_t>>> parts;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    size_t length = starts_[static_cast<uint8_t>(text[i])] ? std::min(longest_, text.size() - i) : 0;
    auto found = tokens_.end();
    for (; length > 0; --length) {  // the longest wins
      found = tokens_.find(text.substr(i, length));
      if (found != tokens_.end() && (special || !found->second.is_special)) break;
      found = tokens_.end();
    }
    if (found == tokens_.end()) {
      ++i;
      continue;
    }
    if (i > begin) parts.push_back({text.substr(begin, i - begin), std::nullopt});
    parts.push_back({text.substr(i, length), found->second.id});
    i += length;
    begin = i;
  }
  if (begin < text.size()) parts.push_back({text.substr(begin), std::nullopt});
  return parts;
}

std::optional<int64_t> SpecialTokens::find(std::string_view text) const {
  const auto found = tokens_.find(text);
  return found == tokens_.end() ? std::nullopt : std::optional(found->second.id);
}
const std::string* SpecialTokens::text_of(int64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second.first;
}
bool SpecialTokens::is_special(int64_t id) const {
  const auto found = by_id_.find(id);
  return found != by_id_.end() && found->second.second;
}
int64_t SpecialTokens::max_id() const {
  int64_t result = -1;
  for (const auto& item : by_id_) result = std::max(result, item.first);
  return result;
}

}  // namespace weft::models
