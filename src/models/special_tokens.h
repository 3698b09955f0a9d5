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

struct SpecialToken {
  int64_t id = 0;
  bool is_special = true;
  bool is_single_word = false;                   // not next to a letter, digit or underscore
  bool takes_left = false, takes_right = false;  // the white space there belongs to it
};

class SpecialTokens {
 public:
  void add(const std::string& text, const SpecialToken& token);
  // Parts of the text in order: (its bytes, no id) and (bytes of the token, id). Of tokens that begin at one
  // place the longest counts, and one that may not stand there is text. `special`: those marked special too.
  // source: Hugging Face tokenizers, AddedVocabulary.
  std::vector<std::pair<std::string_view, std::optional<int64_t>>> split(std::string_view text,
                                                                         bool special) const;
  std::optional<int64_t> find(std::string_view text) const;
  bool is_special(int64_t id) const;
  std::vector<std::string> special_texts() const;

 private:
  std::map<std::string, SpecialToken, std::less<>> tokens_;
  std::unordered_map<int64_t, bool> is_special_;
  size_t longest_ = 0;
  bool starts_[256] = {};
};

}  // namespace weft::models
