// What readers of grammars and of patterns have in common: a text, and how far it is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::serve {

class GrammarText {
 protected:
  // Repetitions of more than `most_repetitions` are refused.
  explicit GrammarText(int64_t most_repetitions) : most_repetitions_(most_repetitions) {}
  virtual ~GrammarText() = default;
  // Throws a ValueError.
  [[noreturn]] virtual void refuse(const std::string& why) const = 0;

  // Begins to read a text in UTF-8.
  void open(std::string_view text);
  bool is_next(char32_t code) const { return at_ < text_.size() && text_[at_] == code; }
  bool take(std::string_view word);  // of ASCII
  char32_t next();
  int64_t count();
  char32_t hexadecimal(int digits);

  std::u32string text_;
  size_t at_ = 0;

 private:
  int64_t most_repetitions_;
};

}  // namespace weft::serve
