// Methods of strings.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "models/jinja/evaluator.h"
#include "models/jinja/texts.h"

namespace weft::models::jinja {
namespace {

// A separator or characters to strip; none where it is None.
std::optional<std::string_view> optional_text(const Bound& bound, size_t index) {
  const Value* value = bound.find(index);
  if (value == nullptr || value->is_none()) return std::nullopt;
  return bound.text(index);
}

template <bool left, bool right>
Value strip_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("strip", arguments, {"chars"});
  return evaluator.string(std::string(stripped(self.text(), left, right, optional_text(bound, 0))));
}

template <std::string (*change)(std::string_view)>
Value changed_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("method", arguments, {});
  return evaluator.string(change(self.text()));
}

std::string with_swapped_case(std::string_view text) {
  std::string result;
  for (const std::string_view character : characters(text))
    result += is_upper_text(character) ? lower_text(character) : upper_text(character);
  return result;
}

template <CharacterClass what>
Value class_method(Evaluator&, const Value& self, Arguments& arguments) {
  const Bound bound("method", arguments, {});
  return Value::boolean(is_all(self.text(), what));
}

template <bool (*is)(std::string_view)>
Value case_method(Evaluator&, const Value& self, Arguments& arguments) {
  const Bound bound("method", arguments, {});
  return Value::boolean(is(self.text()));
}

Value text_list(Evaluator& evaluator, const std::vector<std::string_view>& parts) {
  std::vector<Value> items;
  for (const std::string_view part : parts) items.push_back(evaluator.string(std::string(part)));
  return evaluator.heap.list(std::move(items));
}

template <bool from_right>
Value split_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("split", arguments, {"sep", "maxsplit"});
  const auto separator = optional_text(bound, 0);
  if (separator && separator->empty()) fail("ValueError", "empty separator");
  return text_list(evaluator, split_text(self.text(), separator, bound.integer(1, -1), from_right));
}

Value splitlines_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("splitlines", arguments, {"keepends"});
  return text_list(evaluator, lines_of(self.text(), bound.is_true_at(0)));
}

// Of startswith and endswith: a string or a tuple of them, in a slice.
template <bool at_start>
Value affix_method(Evaluator&, const Value& self, Arguments& arguments) {
  const Bound bound(at_start ? "startswith" : "endswith", arguments, {"affix", "start", "end"}, 1);
  const auto edge = [&](size_t index, int64_t fallback) {
    const Value* value = bound.find(index);
    return value == nullptr || value->is_none() ? fallback : bound.integer(index, fallback);
  };
  const std::string_view text = text_between(self.text(), edge(1, 0), edge(2, INT64_MAX));
  const auto fits = [&](const Value& affix) {
    if (!affix.is_string())
      fail_type(fmt::format("{} first arg must be str or a tuple of str, not {}",
                            at_start ? "startswith" : "endswith", type_name(affix)));
    return at_start ? text.starts_with(affix.text()) : text.ends_with(affix.text());
  };
  const Value affix = bound.get(0);
  if (!affix.is(Kind::Tuple)) return Value::boolean(fits(affix));
  const auto& items = affix.as<Elements>().items;
  return Value::boolean(std::any_of(items.begin(), items.end(), fits));
}

// find, rfind, index, rindex: the place in characters.
template <bool from_right, bool must>
Value find_method_of_text(Evaluator&, const Value& self, Arguments& arguments) {
  const Bound bound("find", arguments, {"sub", "start", "end"}, 1);
  const std::string& text = self.text();
  const std::string_view part =
      text_between(text, bound.integer(1, 0), bound.find(2) == nullptr ? INT64_MAX : bound.integer(2, 0));
  const size_t at = from_right ? part.rfind(bound.text(0)) : part.find(bound.text(0));
  if (at != std::string_view::npos)
    return Value::integer(static_cast<int64_t>(character_count(
        std::string_view(text).substr(0, static_cast<size_t>(part.data() - text.data()) + at))));
  if (must) fail("ValueError", "substring not found");
  return Value::integer(-1);
}

Value count_method_of_text(Evaluator&, const Value& self, Arguments& arguments) {
  const Bound bound("count", arguments, {"sub", "start", "end"}, 1);
  std::string_view text = text_between(self.text(), bound.integer(1, 0),
                                       bound.find(2) == nullptr ? INT64_MAX : bound.integer(2, 0));
  const std::string& part = bound.text(0);
  if (part.empty()) return Value::integer(static_cast<int64_t>(character_count(text)) + 1);
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size()))
    ++count;
  return Value::integer(count);
}

Value replace_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const std::string &old = bound.text(0), &by = bound.text(1);
  // What it may become at most.
  evaluator.heap.charge((self.text().size() / std::max<size_t>(1, old.size()) + 1) * by.size());
  return evaluator.string(replaced_text(self.text(), old, by, bound.integer(2, -1)));
}

Value join_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("join", arguments, {"iterable"}, 1);
  std::string text;
  const std::vector<Value> items = iterate(evaluator.heap, bound.get(0));
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_string())
      fail_type(fmt::format("sequence item {}: expected str instance, {} found", i, type_name(items[i])));
    evaluator.heap.charge(items[i].text().size() + self.text().size());
    if (i > 0) text += self.text();
    text += items[i].text();
  }
  return evaluator.string(std::move(text));
}

// ljust, rjust and center: more space at the left of center where it is odd, as Python has it.
template <int where>
Value pad_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("pad", arguments, {"width", "fillchar"}, 1);
  const std::string fill = bound.text(1, " ");
  if (character_count(fill) != 1) fail_type("The fill character must be exactly one character long");
  const int64_t length = length_of(self), width = bound.integer(0, 0);
  if (width <= length) return self;
  const int64_t space = width - length;
  const int64_t left = where < 0 ? 0 : where > 0 ? space : space / 2 + (space & width & 1);
  evaluator.heap.charge(static_cast<size_t>(space) * fill.size());
  std::string text;
  for (int64_t i = 0; i < left; ++i) text += fill;
  text += self.text();
  for (int64_t i = left; i < space; ++i) text += fill;
  return evaluator.string(std::move(text));
}

Value zfill_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("zfill", arguments, {"width"}, 1);
  const int64_t space = bound.integer(0, 0) - length_of(self);
  if (space <= 0) return self;
  evaluator.heap.charge(static_cast<size_t>(space));
  const bool has_sign = self.text().starts_with('-') || self.text().starts_with('+');
  return evaluator.string(self.text().substr(0, has_sign ? 1 : 0) +
                          std::string(static_cast<size_t>(space), '0') +
                          self.text().substr(has_sign ? 1 : 0));
}

template <bool from_right>
Value partition_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("partition", arguments, {"sep"}, 1);
  const std::string &text = self.text(), &separator = bound.text(0);
  if (separator.empty()) fail("ValueError", "empty separator");
  const size_t at = from_right ? text.rfind(separator) : text.find(separator);
  const Value nothing = evaluator.string("");
  if (at == std::string::npos)
    return evaluator.heap.tuple(from_right ? std::vector<Value>{nothing, nothing, self}
                                           : std::vector<Value>{self, nothing, nothing});
  return evaluator.heap.tuple({evaluator.string(text.substr(0, at)), bound.get(0),
                               evaluator.string(text.substr(at + separator.size()))});
}

template <bool is_prefix>
Value remove_affix_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound(is_prefix ? "removeprefix" : "removesuffix", arguments, {"affix"}, 1);
  const std::string &text = self.text(), &affix = bound.text(0);
  if (is_prefix ? !text.starts_with(affix) : !text.ends_with(affix)) return self;
  return evaluator.string(is_prefix ? text.substr(affix.size()) : text.substr(0, text.size() - affix.size()));
}

Value expandtabs_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("expandtabs", arguments, {"tabsize"});
  const int64_t size = bound.integer(0, 8);
  std::string text;
  int64_t column = 0;
  for (const std::string_view character : characters(self.text())) {
    if (character == "\t") {
      const int64_t count = size > 0 ? size - column % size : 0;
      evaluator.heap.charge(static_cast<size_t>(count));
      text.append(static_cast<size_t>(count), ' ');
      column += count;
      continue;
    }
    text += character;
    column = character == "\n" || character == "\r" ? 0 : column + 1;
  }
  return evaluator.string(std::move(text));
}

using TextMethods = std::unordered_map<std::string_view, NativeFunction>;

const TextMethods& text_methods() {
  static const auto& table = *new TextMethods{
      {"strip", strip_method<true, true>},
      {"lstrip", strip_method<true, false>},
      {"rstrip", strip_method<false, true>},
      {"upper", changed_method<upper_text>},
      {"lower", changed_method<lower_text>},
      {"casefold", changed_method<lower_text>},
      {"title", changed_method<title_text>},
      {"capitalize", changed_method<capitalized_text>},
      {"swapcase", changed_method<with_swapped_case>},
      {"split", split_method<false>},
      {"rsplit", split_method<true>},
      {"splitlines", splitlines_method},
      {"startswith", affix_method<true>},
      {"endswith", affix_method<false>},
      {"find", find_method_of_text<false, false>},
      {"rfind", find_method_of_text<true, false>},
      {"index", find_method_of_text<false, true>},
      {"rindex", find_method_of_text<true, true>},
      {"count", count_method_of_text},
      {"replace", replace_method},
      {"join", join_method},
      {"ljust", pad_method<-1>},
      {"rjust", pad_method<1>},
      {"center", pad_method<0>},
      {"zfill", zfill_method},
      {"partition", partition_method<false>},
      {"rpartition", partition_method<true>},
      {"removeprefix", remove_affix_method<true>},
      {"removesuffix", remove_affix_method<false>},
      {"expandtabs", expandtabs_method},
      {"format", format_text},
      {"isalnum", class_method<CharacterClass::Alnum>},
      {"isalpha", class_method<CharacterClass::Alpha>},
      {"isascii", class_method<CharacterClass::Ascii>},
      {"isdecimal", class_method<CharacterClass::Decimal>},
      {"isdigit", class_method<CharacterClass::Digit>},
      {"isnumeric", class_method<CharacterClass::Numeric>},
      {"isprintable", class_method<CharacterClass::Printable>},
      {"isspace", class_method<CharacterClass::Space>},
      {"islower", case_method<is_lower_text>},
      {"isupper", case_method<is_upper_text>},
      {"istitle", case_method<is_title_text>},
  };
  return table;
}

}  // namespace

Method find_text_method(std::string_view name) {
  const auto found = text_methods().find(name);
  return found == text_methods().end() ? Method() : Method{found->first.data(), found->second};
}

}  // namespace weft::models::jinja
