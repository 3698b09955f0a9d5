#include "serve/gbnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/printable.h"
#include "io/utf8.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr int64_t kMostGbnfRepetitions = 2000;  // as there
constexpr int kMostGbnfDepth = 64;

class GbnfParser {
 public:
  using Sequence = RuleBuilder::Sequence;

  explicit GbnfParser(std::string_view text) {
    const auto decoded = io::decode_utf8(text);
    WEFT_CHECK(decoded.has_value(), "the grammar is no UTF-8");
    text_ = *decoded;
  }

  GrammarRules parse() {
    skip_space(true);
    while (at_ < text_.size()) {
      const std::string name = take_name();
      skip_space(false);
      if (!take("::=")) refuse("expected ::=");
      skip_space(true);
      if (!defined_.insert({name, true}).second) refuse(fmt::format("'{}' is defined twice", name));
      const int rule = rule_of(name);
      rules_.set(rule, alternatives(0, false));
      if (at_ < text_.size() && !take("\n") && !take("\r")) refuse("expected the end of the rule");
      skip_space(true);
    }
    for (const auto& [name, rule] : names_)
      WEFT_CHECK(defined_.contains(name), fmt::format("the grammar has no rule '{}'", name));
    WEFT_CHECK(names_.contains("root"), "the grammar has no rule 'root'");
    return rules_.finish({RuleBuilder::call(names_["root"])});
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    const auto end = text_.begin() + static_cast<ptrdiff_t>(std::min(at_, text_.size()));
    throw_error(ErrorKind::Value,
                fmt::format("the grammar's line {}: {}", 1 + std::count(text_.begin(), end, U'\n'), why));
  }
  bool is_next(char32_t code) const { return at_ < text_.size() && text_[at_] == code; }
  bool take(std::string_view word) {
    for (size_t i = 0; i < word.size(); ++i)
      if (at_ + i >= text_.size() || text_[at_ + i] != static_cast<uint8_t>(word[i])) return false;
    at_ += word.size();
    return true;
  }
  void skip_space(bool takes_lines) {
    while (at_ < text_.size()) {
      if (is_next('#'))
        while (at_ < text_.size() && !is_next('\n') && !is_next('\r')) ++at_;
      else if (is_next(' ') || is_next('\t') || (takes_lines && (is_next('\n') || is_next('\r'))))
        ++at_;
      else
        return;
    }
  }
  static bool is_word(char32_t code) {
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9') ||
           code == '-' || code == '_';
  }
  std::string take_name() {
    std::string name;
    while (at_ < text_.size() && is_word(text_[at_])) name += static_cast<char>(text_[at_++]);
    if (name.empty()) refuse("expected a name");
    return name;
  }
  int rule_of(const std::string& name) {
    const auto [place, is_new] = names_.try_emplace(name, -1);
    if (is_new) place->second = rules_.declare();
    return place->second;
  }

  std::vector<Sequence> alternatives(int depth, bool is_nested) {
    if (depth > kMostGbnfDepth) refuse("groups are nested too deep");
    std::vector<Sequence> all;
    do {
      skip_space(true);
      all.push_back(sequence(depth, is_nested));
    } while (take("|"));
    return all;
  }

  Sequence sequence(int depth, bool is_nested) {
    Sequence all;
    while (at_ < text_.size()) {
      Sequence one;
      if (take("\""))
        one = text();
      else if (take("["))
        one = rules_.one_of(char_class());
      else if (take("."))
        one = rules_.one_of(CharacterSet::all());
      else if (take("("))
        one = group(depth);
      else if (is_word(text_[at_]))
        one = RuleBuilder::call(rule_of(take_name()));
      else if (is_next('<') || is_next('!'))
        refuse("tokens (<...>) are not supported");
      else
        break;
      skip_space(is_nested);
      all = RuleBuilder::joined({all, repetition(std::move(one), is_nested)});
    }
    return all;
  }

  Sequence group(int depth) {
    const Sequence inner = rules_.rule(alternatives(depth + 1, true));
    if (!take(")")) refuse("expected )");
    return inner;
  }

  // Behind one that was read.
  Sequence repetition(Sequence one, bool is_nested) {
    while (true) {
      if (take("*"))
        one = rules_.repeated(one, 0, -1);
      else if (take("+"))
        one = rules_.repeated(one, 1, -1);
      else if (take("?"))
        one = rules_.optional(one);
      else if (take("{"))
        one = counted(one);
      else
        return one;
      skip_space(is_nested);
    }
  }

  int64_t count() {
    int64_t value = 0;
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + static_cast<int64_t>(text_[at_++] - '0');
      if (value > kMostGbnfRepetitions)
        refuse(fmt::format("repetitions are {} at most", kMostGbnfRepetitions));
    }
    if (begin == at_) refuse("expected a number");
    skip_space(true);
    return value;
  }

  Sequence counted(const Sequence& one) {
    skip_space(true);
    const int64_t least = is_next(',') ? 0 : count();
    int64_t most = least;
    if (take(",")) {
      skip_space(true);
      most = is_next('}') ? -1 : count();
    }
    if (!take("}")) refuse("expected }");
    if (most >= 0 && most < least) refuse("a repetition that is none");
    return rules_.repeated(one, least, most);
  }

  char32_t hexadecimal(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const std::string_view all = "0123456789abcdefABCDEF";
      const size_t digit = at_ < text_.size() && text_[at_] < 0x80 ? all.find(static_cast<char>(text_[at_]))
                                                                   : std::string_view::npos;
      if (digit == std::string_view::npos) refuse("an escape with too few hexadecimal digits");
      value = value * 16 + static_cast<char32_t>(digit < 16 ? digit : digit - 6);
    }
    return value;
  }

  // Of a text or a class.
  char32_t character() {
    if (at_ >= text_.size()) refuse("the grammar ends within a text or a class");
    const char32_t code = text_[at_++];
    if (code != '\\') return code;
    if (at_ >= text_.size()) refuse("the grammar ends within an escape");
    switch (text_[at_++]) {
      case 'x': return hexadecimal(2);
      case 'u': return hexadecimal(4);
      case 'U': return hexadecimal(8);
      case 't': return '\t';
      case 'r': return '\r';
      case 'n': return '\n';
      case '\\': return '\\';
      case '"': return '"';
      case '[': return '[';
      case ']': return ']';
      default: --at_; refuse("an escape that is not known");
    }
  }

  Sequence text() {
    std::string bytes;
    while (!take("\""))
      if (!io::append_utf8(bytes, character())) refuse("an escape that is no character");
    return RuleBuilder::literal(bytes);
  }

  CharacterSet char_class() {
    const bool is_inverted = take("^");
    CharacterSet set;
    while (!take("]")) {
      const char32_t first = character();
      char32_t last = first;
      if (is_next('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        last = character();
      }
      if (last < first || last > 0x10FFFF) refuse("a range that is none");
      set.add(first, last);
    }
    return is_inverted ? set.inverted() : set;
  }

  std::u32string text_;
  size_t at_ = 0;
  RuleBuilder rules_;
  std::map<std::string, int> names_;
  std::map<std::string, bool> defined_;
};

}  // namespace

GrammarRules parse_gbnf(std::string_view text) { return GbnfParser(text).parse(); }

}  // namespace weft::serve
