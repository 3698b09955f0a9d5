#include "serve/json_pattern.h"

#include <fmt/format.h>

#include "core/printable.h"
#include "serve/grammar_text.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr int64_t kMostPatternRepetitions = 4096;
constexpr int kMostPatternDepth = 64;

const CharacterSet& pattern_digits() {
  static const auto& set = *new CharacterSet{{'0', '9'}};
  return set;
}
const CharacterSet& pattern_words() {
  static const auto& set = *new CharacterSet{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return set;
}
// source: ECMA-262, WhiteSpace and LineTerminator.
const CharacterSet& pattern_spaces() {
  static const auto& set = *new CharacterSet{
      {0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
      {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  return set;
}

class PatternParser : GrammarText {
 public:
  using Sequence = RuleBuilder::Sequence;

  PatternParser(JsonRules& rules, std::string_view pattern)
      : GrammarText(kMostPatternRepetitions), rules_(rules), pattern_(printable(pattern)) {
    open(pattern);
  }

  Sequence whole() {
    std::vector<Sequence> all;
    do {
      const bool is_begin = take("^");
      const Sequence middle = alternative(0);
      const bool is_end = take("$");
      const auto any = [&] { return rules_.repeated(rules_.character(CharacterSet::all()), 0, -1); };
      all.push_back(
          RuleBuilder::joined({is_begin ? Sequence() : any(), middle, is_end ? Sequence() : any()}));
    } while (take("|"));
    if (at_ < text_.size()) refuse(fmt::format("has what is not supported at character {}", at_));
    return rules_.rule(std::move(all));
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const override {
    throw_error(ErrorKind::Value, fmt::format("the pattern '{}' {}", pattern_, why));
  }
  Sequence alternatives(int depth) {
    std::vector<Sequence> all;
    do all.push_back(alternative(depth));
    while (take("|"));
    return rules_.rule(std::move(all));
  }

  Sequence alternative(int depth) {
    Sequence all;
    while (at_ < text_.size() && !is_next('|') && !is_next(')') && !is_next('$'))
      all = RuleBuilder::joined({all, repetition(depth)});
    return all;
  }

  Sequence repetition(int depth) {
    Sequence one = atom(depth);
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
      take("?");  // how much is matched first says nothing about what matches
    }
  }

  Sequence counted(const Sequence& one) {
    const int64_t least = count();
    int64_t most = least;
    if (take(",")) most = is_next('}') ? -1 : count();
    if (!take("}") || (most >= 0 && most < least)) refuse("has a repetition that is none");
    return rules_.repeated(one, least, most);
  }

  Sequence atom(int depth) {
    if (depth > kMostPatternDepth) refuse("is nested too deep");
    const char32_t code = next();
    switch (code) {
      case '(': {
        if (take("?") && !take(":"))
          refuse("has a group that is not supported: a look-around, or a named one");
        const Sequence inner = alternatives(depth + 1);
        if (!take(")")) refuse("has a group that does not end, or $ within one");
        return inner;
      }
      case '[': return rules_.character(char_class());
      case '.':
        return rules_.character(CharacterSet{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}.inverted());
      case '\\': return rules_.character(escape());
      case '*':
      case '+':
      case '?':
      case '{': refuse("repeats nothing");
      case '^': refuse("has ^ elsewhere than at its beginning");
      default: return rules_.character(CharacterSet{{code, code}});
    }
  }

  CharacterSet escape() {
    const char32_t code = next();
    switch (code) {
      case 'd': return pattern_digits();
      case 'D': return pattern_digits().inverted();
      case 'w': return pattern_words();
      case 'W': return pattern_words().inverted();
      case 's': return pattern_spaces();
      case 'S': return pattern_spaces().inverted();
      case 'n': return CharacterSet{{'\n', '\n'}};
      case 'r': return CharacterSet{{'\r', '\r'}};
      case 't': return CharacterSet{{'\t', '\t'}};
      case 'f': return CharacterSet{{'\f', '\f'}};
      case 'x':
      case 'u': {
        const char32_t value = hexadecimal(code == 'x' ? 2 : 4);
        return CharacterSet{{value, value}};
      }
      default: {
        const bool is_name =
            (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
        if (is_name)
          refuse(fmt::format("has the escape '\\{}', which is not supported", static_cast<char>(code)));
        return CharacterSet{{code, code}};
      }
    }
  }

  CharacterSet char_class() {
    const bool is_inverted = take("^");
    CharacterSet set;
    while (!take("]")) {
      const char32_t code = next();
      CharacterSet part = code == '\\' ? escape() : CharacterSet{{code, code}};
      const auto single = [](const CharacterSet& of) {
        return of.ranges().size() == 1 && of.ranges()[0].first == of.ranges()[0].second;
      };
      if (is_next('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        const char32_t other = next();
        const CharacterSet end = other == '\\' ? escape() : CharacterSet{{other, other}};
        if (!single(part) || !single(end) || part.ranges()[0].first > end.ranges()[0].first)
          refuse("has a range that is none");
        part.add(part.ranges()[0].first, end.ranges()[0].first);
      }
      set.add(part);
    }
    return is_inverted ? set.inverted() : set;
  }

  JsonRules& rules_;
  std::string pattern_;
};

}  // namespace

RuleBuilder::Sequence pattern_rule(JsonRules& rules, std::string_view pattern) {
  return PatternParser(rules, pattern).whole();
}

}  // namespace weft::serve
