// Tokens that stand in a text as they are written, before anything else is looked at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::models {

class SpecialTokens {
 public:
  void add(const std::string& text, int64_t id, bool is_special);
  // Parts of the text in order: (its bytes, no id) and (token, id). `special`: those marked special too.
  std::vector<std::pair<std::string_view, std::optional<int64_t>>> split(std::string_view text, bool special) const;
  std::optional<int64_t> find(std::string_view text) const;
  const std::string* text_of(int64_t id) const;
  bool is_special(int64_t id) const;
  int64_t max_id() const;

 private:
  struct Token {
    int64_t id;
    bool is_special;
  };
  std::map<std::string, Token, std::less<>> tokens_;
  std::unordered_map<int64_t, std::pair<std::string, bool>> by_id_;
  size_t longest_ = 0;
  bool starts_[256] = {};
};

}  // namespace weft::models
