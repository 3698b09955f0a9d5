// Grammars over bytes as rules, and what they are made of: texts, characters, repetitions.
#pragma once

#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::serve {

using ByteSet = std::bitset<256>;

// Rules of alternatives of sequences; rule 0 is the text.
struct GrammarRules {
  struct Element {
    int rule = -1;  // or, where it is -1, one of
    ByteSet bytes;
  };
  using Sequence = std::vector<Element>;
  std::vector<std::vector<Sequence>> rules;
};

// Texts have no byte from 0xF8 on: these stand for special tokens, the marks of a TokenTrie.
constexpr size_t kMostMarks = 8;
constexpr uint8_t mark_byte(size_t mark) { return static_cast<uint8_t>(0xF8 + mark); }

// Code points, without surrogates.
class CharacterSet {
 public:
  using Range = std::pair<char32_t, char32_t>;  // first and last
  CharacterSet() = default;
  CharacterSet(std::initializer_list<Range> ranges) : ranges_(ranges) { order(); }
  // Each of its characters, which are ASCII.
  explicit CharacterSet(std::string_view characters);
  static CharacterSet all() { return CharacterSet().inverted(); }
  void add(char32_t first, char32_t last);
  void add(const CharacterSet& other);
  CharacterSet inverted() const;
  CharacterSet without(const CharacterSet& other) const;
  bool contains(char32_t code) const;
  const std::vector<Range>& ranges() const { return ranges_; }  // in order, apart from each other

 private:
  void order();
  std::vector<Range> ranges_;
};

class RuleBuilder {
 public:
  using Element = GrammarRules::Element;
  using Sequence = GrammarRules::Sequence;

  RuleBuilder() { rules_.rules.emplace_back(); }
  // A rule whose alternatives are set later; ValueError for too many rules.
  int declare();
  void set(int rule, std::vector<Sequence> alternatives);
  Sequence rule(std::vector<Sequence> alternatives);
  static Sequence call(int rule) { return {{.rule = rule, .bytes = {}}}; }
  static Sequence literal(std::string_view text);
  static Sequence byte_range(int first, int last);
  static Sequence joined(std::initializer_list<Sequence> parts);
  // A character of the set, in UTF-8.
  Sequence one_of(const CharacterSet& set);
  Sequence optional(const Sequence& what) { return rule({{}, what}); }
  // `least` to `most` of it, most < 0: any number; `between` stands between two.
  Sequence repeated(const Sequence& what, int64_t least, int64_t most, const Sequence& between = {});
  // They become the text.
  GrammarRules finish(std::vector<Sequence> alternatives);

 private:
  GrammarRules rules_;
};

}  // namespace weft::serve
