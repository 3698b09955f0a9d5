#include "serve/grammar_rules.h"

#include <algorithm>
#include <string>

#include "io/utf8.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr size_t kMostRules = 200'000;
constexpr char32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF, kLastCharacter = 0x10FFFF;

// Ranges whose UTF-8 is a range in each of its bytes. source: RE2, "Compiling UTF-8 ranges".
void add_utf8_ranges(char32_t first, char32_t last, std::vector<GrammarRules::Sequence>& all) {
  for (const char32_t limit : {0x7F, 0x7FF, 0xFFFF})
    if (first <= limit && limit < last) {
      add_utf8_ranges(first, limit, all);
      return add_utf8_ranges(limit + 1, last, all);
    }
  std::string low, high;
  io::append_utf8(low, first), io::append_utf8(high, last);
  for (size_t follow = 1; follow < low.size(); ++follow) {
    const char32_t mask = (char32_t{1} << (6 * follow)) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) {
      add_utf8_ranges(first, first | mask, all);
      return add_utf8_ranges((first | mask) + 1, last, all);
    }
    if ((last & mask) != mask) {
      add_utf8_ranges(first, (last & ~mask) - 1, all);
      return add_utf8_ranges(last & ~mask, last, all);
    }
  }
  GrammarRules::Sequence sequence;
  for (size_t i = 0; i < low.size(); ++i)
    sequence.push_back(
        RuleBuilder::byte_range(static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i]))[0]);
  all.push_back(std::move(sequence));
}

}  // namespace

CharacterSet::CharacterSet(std::string_view characters) {
  for (const char c : characters) ranges_.emplace_back(static_cast<uint8_t>(c), static_cast<uint8_t>(c));
  order();
}

void CharacterSet::order() {
  std::vector<Range> parts;
  for (const auto& [first, last] : ranges_) {
    if (first < kFirstSurrogate) parts.emplace_back(first, std::min<char32_t>(last, kFirstSurrogate - 1));
    if (last > kLastSurrogate) parts.emplace_back(std::max<char32_t>(first, kLastSurrogate + 1), last);
  }
  std::sort(parts.begin(), parts.end());
  ranges_.clear();
  for (const Range& part : parts) {
    if (part.first > part.second) continue;
    if (!ranges_.empty() && part.first <= ranges_.back().second + 1)
      ranges_.back().second = std::max(ranges_.back().second, part.second);
    else
      ranges_.push_back(part);
  }
}

void CharacterSet::add(char32_t first, char32_t last) {
  ranges_.emplace_back(first, last);
  order();
}

void CharacterSet::add(const CharacterSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  order();
}

CharacterSet CharacterSet::inverted() const {
  CharacterSet result;
  char32_t next = 0;
  for (const auto& [first, last] : ranges_) {
    if (first > next) result.ranges_.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next <= kLastCharacter) result.ranges_.emplace_back(next, kLastCharacter);
  result.order();
  return result;
}

CharacterSet CharacterSet::without(const CharacterSet& other) const {
  CharacterSet rest = inverted();
  rest.add(other);
  return rest.inverted();
}

bool CharacterSet::contains(char32_t code) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const Range& range) { return range.first <= code && code <= range.second; });
}

int RuleBuilder::declare() {
  WEFT_CHECK(rules_.rules.size() < kMostRules, "the grammar is too large");
  rules_.rules.emplace_back();
  return static_cast<int>(rules_.rules.size()) - 1;
}

void RuleBuilder::set(int rule, std::vector<Sequence> alternatives) {
  rules_.rules[static_cast<size_t>(rule)] = std::move(alternatives);
}

RuleBuilder::Sequence RuleBuilder::rule(std::vector<Sequence> alternatives) {
  if (alternatives.size() == 1 && alternatives[0].size() == 1) return alternatives[0];
  const int made = declare();
  set(made, std::move(alternatives));
  return call(made);
}

RuleBuilder::Sequence RuleBuilder::literal(std::string_view text) {
  Sequence sequence;
  for (const char c : text)
    sequence.push_back(byte_range(static_cast<uint8_t>(c), static_cast<uint8_t>(c))[0]);
  return sequence;
}

RuleBuilder::Sequence RuleBuilder::byte_range(int first, int last) {
  Element element;
  for (int byte = first; byte <= last; ++byte) element.bytes.set(static_cast<size_t>(byte));
  return {element};
}

RuleBuilder::Sequence RuleBuilder::joined(std::initializer_list<Sequence> parts) {
  Sequence all;
  for (const Sequence& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

RuleBuilder::Sequence RuleBuilder::one_of(const CharacterSet& set) {
  Element ascii;
  std::vector<Sequence> all;
  for (const auto& [first, last] : set.ranges()) {
    for (char32_t code = first; code <= std::min<char32_t>(last, 0x7F); ++code) ascii.bytes.set(code);
    if (last > 0x7F) add_utf8_ranges(std::max<char32_t>(first, 0x80), last, all);
  }
  if (ascii.bytes.any()) all.insert(all.begin(), {ascii});
  return rule(std::move(all));
}

RuleBuilder::Sequence RuleBuilder::repeated(const Sequence& what, int64_t least, int64_t most,
                                            const Sequence& between) {
  if (most == 0) return {};
  const Sequence one = what.size() == 1 ? what : rule({what}), another = joined({between, one});
  Sequence rest;  // those behind the first
  if (most < 0) {
    const int made = declare();
    set(made, {{}, joined({another, call(made)})});
    rest = call(made);
  }
  for (int64_t i = std::max<int64_t>(least, 1); i < most; ++i) rest = optional(joined({another, rest}));
  for (int64_t i = 1; i < least; ++i) rest = rule({joined({another, rest})});
  const Sequence all = joined({one, rest});
  return least == 0 ? optional(all) : all;
}

GrammarRules RuleBuilder::finish(std::vector<Sequence> alternatives) {
  set(0, std::move(alternatives));
  return std::move(rules_);
}

}  // namespace weft::serve
