#include "serve/json_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr int64_t kIndentation = 40, kMostDigits = 16, kMostExponentDigits = 2;

// What stands in a string of JSON only after a backslash, and how.
constexpr std::pair<char, char> kEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
                                              {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'}};

const CharacterSet& plain_characters() {
  static const auto& set = *new CharacterSet{{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x10FFFF}};
  return set;
}

}  // namespace

RuleBuilder::Sequence JsonRules::space() {
  if (space_.empty())
    space_ = rule(
        {{}, literal(" "), joined({literal("\n"), repeated(one_of(CharacterSet(" \t")), 0, kIndentation)})});
  return space_;
}

RuleBuilder::Sequence JsonRules::character(const CharacterSet& set) {
  std::vector<Sequence> all;
  const CharacterSet plain = set.without(plain_characters().inverted());
  if (!plain.ranges().empty()) all.push_back(one_of(plain));
  for (const auto& [meant, written] : kEscapes)
    if (set.contains(static_cast<uint8_t>(meant))) all.push_back(literal(std::string("\\") + written));
  return rule(std::move(all));
}

RuleBuilder::Sequence JsonRules::character() {
  if (!character_.empty()) return character_;
  const auto hex = [&] { return one_of(CharacterSet("0123456789abcdefABCDEF")); };
  // Escapes of surrogates are left out: they come in pairs.
  return character_ = rule(
             {one_of(plain_characters()), joined({literal("\\"), one_of(CharacterSet("\"\\/bfnrt"))}),
              joined({literal("\\u"), one_of(CharacterSet("0123456789abcefABCEF")), hex(), hex(), hex()}),
              joined({literal("\\u"), one_of(CharacterSet("dD")), one_of(CharacterSet("01234567")), hex(),
                      hex()})});
}

RuleBuilder::Sequence JsonRules::string(int64_t least, int64_t most) {
  if (least == 0 && most < 0) {
    if (string_.empty()) string_ = rule({quoted(repeated(character(), 0, -1))});
    return string_;
  }
  return rule({quoted(repeated(character(), least, most))});
}

RuleBuilder::Sequence JsonRules::other_string(const std::vector<std::string>& names) {
  // By what stands before: with which bytes the names go on.
  std::map<std::string, CharacterSet> follow = {{"", {}}};
  for (const std::string& name : names) {
    for (size_t i = 0; i < name.size(); ++i)
      follow[name.substr(0, i)].add(static_cast<uint8_t>(name[i]), static_cast<uint8_t>(name[i]));
    follow[name];
  }
  const Sequence rest = rule({repeated(one_of(plain_characters()), 0, -1)});
  std::map<std::string, Sequence> rules;
  for (auto at = follow.rbegin(); at != follow.rend(); ++at) {  // longer ones first
    std::vector<Sequence> all;
    if (std::find(names.begin(), names.end(), at->first) == names.end()) all.push_back({});
    // Names are told apart by their ASCII characters; a name that goes on with another is left by none.
    CharacterSet same = at->second;
    if (std::any_of(same.ranges().begin(), same.ranges().end(),
                    [](const CharacterSet::Range& range) { return range.second > 0x7F; }))
      same.add(0x80, 0x10FFFF);
    all.push_back(joined({one_of(plain_characters().without(same)), rest}));
    for (const auto& [first, last] : at->second.ranges())
      for (char32_t byte = first; byte <= std::min<char32_t>(last, 0x7F); ++byte) {
        const auto next = rules.find(at->first + static_cast<char>(byte));
        if (plain_characters().contains(byte) && next != rules.end())
          all.push_back(joined({literal(next->first.substr(at->first.size())), next->second}));
      }
    rules[at->first] = rule(std::move(all));
  }
  return quoted(rules.at(""));
}

RuleBuilder::Sequence JsonRules::fraction() {
  if (fraction_.empty()) fraction_ = rule({joined({literal("."), digits(1, kMostDigits)})});
  return fraction_;
}

RuleBuilder::Sequence JsonRules::number() {
  if (!number_.empty()) return number_;
  const Sequence sign = optional(one_of(CharacterSet("+-")));
  const Sequence exponent =
      optional(joined({one_of(CharacterSet("eE")), sign, digits(1, kMostExponentDigits)}));
  return number_ = rule({joined({integer(), optional(fraction()), exponent})});
}

// Numbers of one length, from digit strings: a common beginning, then what is free.
RuleBuilder::Sequence JsonRules::magnitudes_of_length(const std::string& least, const std::string& most) {
  const size_t length = least.size();
  if (length == 0) return {};
  const std::string zeros(length - 1, '0'), nines(length - 1, '9');
  const std::string low_rest = least.substr(1), high_rest = most.substr(1);
  const auto free = [&] {
    return digits(static_cast<int64_t>(length) - 1, static_cast<int64_t>(length) - 1);
  };
  if (least[0] == most[0])
    return joined({literal(least.substr(0, 1)), magnitudes_of_length(low_rest, high_rest)});
  char first = least[0], last = most[0];
  std::vector<Sequence> all;
  if (low_rest != zeros) {
    all.push_back(joined({literal({&first, 1}), magnitudes_of_length(low_rest, nines)}));
    ++first;
  }
  if (high_rest != nines) {
    all.push_back(joined({literal({&last, 1}), magnitudes_of_length(zeros, high_rest)}));
    --last;
  }
  if (first <= last) all.push_back(joined({byte_range(first, last), free()}));
  return rule(std::move(all));
}

RuleBuilder::Sequence JsonRules::magnitudes(int64_t least, std::optional<int64_t> most) {
  const std::string low = fmt::format("{}", least), high = most ? fmt::format("{}", *most) : "";
  std::vector<Sequence> all;
  for (size_t length = low.size(); length <= (most ? high.size() : low.size()); ++length)
    all.push_back(magnitudes_of_length(length == low.size() ? low : "1" + std::string(length - 1, '0'),
                                       length == high.size() ? high : std::string(length, '9')));
  if (!most && static_cast<int64_t>(low.size()) < kMostDigits)
    all.push_back(joined({byte_range('1', '9'), digits(static_cast<int64_t>(low.size()), kMostDigits - 1)}));
  return rule(std::move(all));
}

// Without sign, from `least` on, which is not below 0.
std::vector<RuleBuilder::Sequence> JsonRules::bounded_numbers(Bound least, std::optional<Bound> most,
                                                              bool has_fraction) {
  std::vector<Sequence> all;
  const int64_t first = least.value + (least.is_exclusive ? 1 : 0);
  const auto last = most ? std::optional(most->value - (most->is_exclusive ? 1 : 0)) : std::nullopt;
  if (!last || first <= *last) all.push_back(magnitudes(first, last));
  if (!has_fraction) return all;
  const auto below = most ? std::optional(most->value - 1) : std::nullopt;
  if (!below || first <= *below) all.push_back(joined({magnitudes(first, below), fraction()}));
  if (least.is_exclusive && (!below || least.value <= *below))
    all.push_back(
        joined({literal(fmt::format("{}.", least.value)), repeated(literal("0"), 0, kMostDigits / 2),
                byte_range('1', '9'), digits(0, kMostDigits / 2)}));
  return all;
}

RuleBuilder::Sequence JsonRules::bounded(std::optional<Bound> least, std::optional<Bound> most,
                                         bool has_fraction) {
  std::vector<Sequence> all;
  const bool has_positive = !most || most->value > 0 || (most->value == 0 && !most->is_exclusive);
  if (has_positive) all = bounded_numbers(least && least->value >= 0 ? *least : Bound{}, most, has_fraction);
  if (!least || least->value < 0) {
    std::optional<Bound> largest;
    if (least) largest = Bound{-least->value, least->is_exclusive};
    const Bound smallest = most && most->value <= 0 ? Bound{-most->value, most->is_exclusive} : Bound{};
    for (const Sequence& number : bounded_numbers(smallest, largest, has_fraction))
      all.push_back(joined({literal("-"), number}));
  }
  WEFT_CHECK(!all.empty(), "no number is within the bounds");
  return rule(std::move(all));
}

RuleBuilder::Sequence JsonRules::integer(std::optional<Bound> least, std::optional<Bound> most) {
  return bounded(least, most, false);
}

RuleBuilder::Sequence JsonRules::number(std::optional<Bound> least, std::optional<Bound> most) {
  return least || most ? bounded(least, most, true) : number();
}

RuleBuilder::Sequence JsonRules::any_value() {
  if (!any_.empty()) return any_;
  const int made = declare();
  any_ = call(made);
  const Sequence items = repeated(rule({joined({space(), any_})}), 0, -1, token(","));
  set(made, {any_object(), joined({literal("["), items, token("]")}), string(0, -1), number(),
             literal("true"), literal("false"), literal("null")});
  return any_;
}

RuleBuilder::Sequence JsonRules::any_object() {
  if (object_.empty()) {
    const int made = declare();
    object_ = call(made);
    set(made, {map_of(string(0, -1), any_value(), 0, -1)});
  }
  return object_;
}

RuleBuilder::Sequence JsonRules::map_of(const Sequence& name, const Sequence& value, int64_t least,
                                        int64_t most) {
  return joined({literal("{"), repeated(rule({pair(name, value)}), least, most, token(",")), token("}")});
}

}  // namespace weft::serve
