#include "serve/grammar_text.h"

#include <fmt/format.h>

#include "io/utf8.h"

namespace weft::serve {

void GrammarText::open(std::string_view text) {
  const auto decoded = io::decode_utf8(text);
  if (!decoded) refuse("is no UTF-8");
  text_ = *decoded;
}

bool GrammarText::take(std::string_view word) {
  for (size_t i = 0; i < word.size(); ++i)
    if (at_ + i >= text_.size() || text_[at_ + i] != static_cast<uint8_t>(word[i])) return false;
  at_ += word.size();
  return true;
}

char32_t GrammarText::next() {
  if (at_ >= text_.size()) refuse("ends too early");
  return text_[at_++];
}

int64_t GrammarText::count() {
  int64_t value = 0;
  const size_t begin = at_;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
    value = value * 10 + static_cast<int64_t>(text_[at_++] - '0');
    if (value > most_repetitions_) refuse(fmt::format("repeats more than {} times", most_repetitions_));
  }
  if (begin == at_) refuse("has a repetition without a number");
  return value;
}

char32_t GrammarText::hexadecimal(int digits) {
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  char32_t value = 0;
  for (int i = 0; i < digits; ++i) {
    const char32_t code = next();
    const size_t digit = code < 0x80 ? kDigits.find(static_cast<char>(code)) : std::string_view::npos;
    if (digit == std::string_view::npos) refuse("has an escape with too few hexadecimal digits");
    value = value * 16 + static_cast<char32_t>(digit < 16 ? digit : digit - 6);
  }
  return value;
}

}  // namespace weft::serve
