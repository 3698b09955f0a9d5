#include "serve/gbnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "io/utf8.h"
#include "serve/grammar_text.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr int64_t kMostGbnfRepetitions = 2000;  // as there
constexpr int kMostGbnfDepth = 64;

class GbnfParser : GrammarText {
 public:
  using Sequence = RuleBuilder::Sequence;

  explicit GbnfParser(std::string_view text) : GrammarText(kMostGbnfRepetitions) { open(text); }

  GrammarRules parse() {
    skip_space(true);
    while (at_ < text_.size()) {
      const std::string name = take_name();
      skip_space(false);
      if (!take("::=")) refuse("needs ::=");
      skip_space(true);
      if (!defined_.insert({name, true}).second) refuse(fmt::format("defines '{}' twice", name));
      const int rule = rule_of(name);
      rules_.set(rule, alternatives(0, false));
      if (at_ < text_.size() && !take("\n") && !take("\r")) refuse("has something behind the rule");
      skip_space(true);
    }
    for (const auto& [name, rule] : names_)
      WEFT_CHECK(defined_.contains(name), fmt::format("the grammar has no rule '{}'", name));
    WEFT_CHECK(names_.contains("root"), "the grammar has no rule 'root'");
    return rules_.finish({RuleBuilder::call(names_["root"])});
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const override {
    const auto end = text_.begin() + static_cast<ptrdiff_t>(std::min(at_, text_.size()));
    throw_error(ErrorKind::Value,
                fmt::format("the grammar's line {} {}", 1 + std::count(text_.begin(), end, U'\n'), why));
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
    if (name.empty()) refuse("needs a name");
    return name;
  }
  int rule_of(const std::string& name) {
    const auto [place, is_new] = names_.try_emplace(name, -1);
    if (is_new) place->second = rules_.declare();
    return place->second;
  }

  std::vector<Sequence> alternatives(int depth, bool is_nested) {
    if (depth > kMostGbnfDepth) refuse("has groups that are nested too deep");
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
        refuse("has tokens (<...>), which are not supported");
      else
        break;
      skip_space(is_nested);
      all = RuleBuilder::joined({all, repetition(std::move(one), is_nested)});
    }
    return all;
  }

  Sequence group(int depth) {
    const Sequence inner = rules_.rule(alternatives(depth + 1, true));
    if (!take(")")) refuse("needs )");
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

  Sequence counted(const Sequence& one) {
    skip_space(true);
    const int64_t least = is_next(',') ? 0 : count();
    skip_space(true);
    int64_t most = least;
    if (take(",")) {
      skip_space(true);
      most = is_next('}') ? -1 : count();
      skip_space(true);
    }
    if (!take("}")) refuse("needs }");
    if (most >= 0 && most < least) refuse("has a repetition that is none");
    return rules_.repeated(one, least, most);
  }

  // Of a text or a class.
  char32_t character() {
    const char32_t code = next();
    if (code != '\\') return code;
    switch (next()) {
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
      default: --at_; refuse("has an escape that is not known");
    }
  }

  Sequence text() {
    std::string bytes;
    while (!take("\""))
      if (!io::append_utf8(bytes, character())) refuse("has an escape that is no character");
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
      if (last < first || last > 0x10FFFF) refuse("has a range that is none");
      set.add(first, last);
    }
    return is_inverted ? set.inverted() : set;
  }

  RuleBuilder rules_;
  std::map<std::string, int> names_;
  std::map<std::string, bool> defined_;
};

}  // namespace

GrammarRules parse_gbnf(std::string_view text) { return GbnfParser(text).parse(); }

}  // namespace weft::serve
