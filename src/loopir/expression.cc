#include "loopir/expression.h"

#include <algorithm>
#include <cctype>
#include <functional>

namespace weft::loopir {

namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The one place that looks into the text of an expression: calls `each(begin, end)` for its words.
template <class Each>
void for_each_word(const std::string& text, const Each& each) {
  for (size_t at = 0; at < text.size();) {
    if (!is_of_word(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && is_of_word(text[at])) ++at;
    each(begin, at);
  }
}

// With `by(word)` in the place of words, where it is not null.
std::string replaced(const std::string& text, const std::function<std::string(const std::string&)>& by) {
  std::string result;
  size_t done = 0;
  for_each_word(text, [&](size_t begin, size_t end) {
    result += text.substr(done, begin - done) + by(text.substr(begin, end - begin));
    done = end;
  });
  return result + text.substr(done);
}

}  // namespace

std::vector<std::string> Expr::words() const {
  std::vector<std::string> words;
  for_each_word(text_, [&](size_t begin, size_t end) { words.push_back(text_.substr(begin, end - begin)); });
  return words;
}

int Expr::uses(const std::string& name) const {
  int count = 0;
  for_each_word(text_, [&](size_t begin, size_t end) {
    count += end - begin == name.size() && text_.compare(begin, name.size(), name) == 0 ? 1 : 0;
  });
  return count;
}

bool Expr::uses_any(const std::set<std::string>& names) const {
  if (names.empty()) return false;
  const std::vector<std::string> all = words();
  return std::any_of(all.begin(), all.end(), [&](const std::string& word) { return names.count(word) > 0; });
}

bool Expr::calls_any(const std::set<std::string>& names) const {
  bool found = false;
  for_each_word(text_, [&](size_t begin, size_t end) {
    found |= end < text_.size() && text_[end] == '(' && names.count(text_.substr(begin, end - begin)) > 0;
  });
  return found;
}

bool Expr::is_word() const {
  const size_t begin = text_.size() > 1 && text_[0] == '-' ? 1 : 0;
  return !text_.empty() &&
         std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(begin), text_.end(), is_of_word);
}

bool Expr::begins_with_number() const {
  return !text_.empty() && std::isdigit(static_cast<unsigned char>(text_[0])) != 0;
}

Expr Expr::renamed(const std::set<std::string>& names, const std::string& suffix) const {
  return replaced(text_, [&](const std::string& word) { return names.count(word) ? word + suffix : word; });
}

Expr Expr::with(const std::map<std::string, Expr>& values) const {
  return replaced(text_, [&](const std::string& word) {
    const auto found = values.find(word);
    return found == values.end() ? word : "(" + found->second.text() + ")";
  });
}

}  // namespace weft::loopir
