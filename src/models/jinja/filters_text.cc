// Filters that make text. source: jinja2 3.1, filters.py.
#include "models/jinja/filters_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/characters.h"
#include "models/jinja/evaluator.h"
#include "models/jinja/texts.h"

namespace weft::models::jinja {
namespace {

template <std::string (*change)(std::string_view)>
Value case_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("filter", arguments, {});
  return evaluator.string(change(to_text(evaluator.heap, subject)));
}

// Words as the filter `title` sees them: behind "-", "(", "{", "[", "<" and space.
Value title_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("title", arguments, {});
  const std::string text = to_text(evaluator.heap, subject);
  std::string result;
  bool is_first = true;
  for (const std::string_view character : characters(text)) {
    const bool is_between = std::string_view("-({[<").find(character[0]) != std::string_view::npos ||
                            is_python_space(first_character(character).code);
    result += is_first ? upper_text(character) : lower_text(character);
    is_first = is_between;
  }
  return evaluator.string(std::move(result));
}

Value trim_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("trim", arguments, {"chars"});
  const std::string text = to_text(evaluator.heap, subject);
  const bool has_set = bound.find(0) != nullptr && !bound.find(0)->is_none();
  return evaluator.string(
      std::string(has_set ? stripped(text, true, true, bound.text(0)) : stripped(text, true, true)));
}

Value replace_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const std::string text = to_text(evaluator.heap, subject), old = to_text(evaluator.heap, bound.get(0)),
                    by = to_text(evaluator.heap, bound.get(1));
  const bool has_count = bound.find(2) != nullptr && !bound.find(2)->is_none();
  evaluator.heap.charge((text.size() / std::max<size_t>(1, old.size()) + 1) * by.size());
  return evaluator.string(replaced_text(text, old, by, has_count ? bound.integer(2, -1) : -1));
}

// A string, or what Python raises for `subject + "\n"`.
const std::string& text_subject(Evaluator& evaluator, const Value& subject) {
  if (!subject.is_string()) binary(evaluator, Operator::Add, subject, evaluator.string("\n"));
  if (!subject.is_string()) fail_type(fmt::format("a string was expected, got {}", type_name(subject)));
  return subject.text();
}

Value indent_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  const std::string text = text_subject(evaluator, subject) + "\n";
  std::string space;
  if (bound.find(0) != nullptr && bound.find(0)->is_string()) {
    space = bound.text(0);
  } else {
    const int64_t width = std::max<int64_t>(0, bound.integer(0, 4));
    evaluator.heap.charge(static_cast<size_t>(width));
    space.assign(static_cast<size_t>(width), ' ');
  }
  const bool first = bound.is_true_at(1), blank = bound.is_true_at(2);
  std::string result;
  bool is_first = true;
  for (const std::string_view line : lines_of(text, false)) {
    if (!is_first) result += '\n';
    if (is_first ? first : blank || !line.empty()) {
      evaluator.heap.charge(space.size());
      result += space;
    }
    result += line;
    is_first = false;
  }
  return evaluator.string(std::move(result));
}

Value truncate_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  if (!subject.is_string()) fail_type(fmt::format("object of type '{}' has no len()", type_name(subject)));
  const int64_t length = bound.integer(0, 255);
  const std::string end = bound.text(2, "...");
  const bool has_leeway = bound.find(3) != nullptr && !bound.find(3)->is_none();
  const int64_t leeway = has_leeway ? bound.integer(3, 5) : 5,
                end_length = static_cast<int64_t>(character_count(end));
  if (length < end_length)
    fail("AssertionError", fmt::format("expected length >= {}, got {}", end_length, length));
  if (leeway < 0) fail("AssertionError", fmt::format("expected leeway >= 0, got {}", leeway));
  if (length_of(subject) - length <= leeway) return subject;
  std::string_view kept = text_between(subject.text(), 0, length - end_length);
  if (!bound.is_true_at(1)) kept = kept.substr(0, kept.rfind(' '));
  return evaluator.string(std::string(kept) + end);
}

Value wordcount_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("wordcount", arguments, {});
  int64_t count = 0;
  bool is_inside = false;
  for (const std::string_view character : characters(to_text(evaluator.heap, subject))) {
    const bool is_word = is_word_character(first_character(character).code);
    count += is_word && !is_inside ? 1 : 0;
    is_inside = is_word;
  }
  return Value::integer(count);
}

Value center_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("center", arguments, {"width"});
  Arguments width;
  width.positional.push_back(bound.get(0, Value::integer(80)));
  return find_text_method("center").call(evaluator, evaluator.string(to_text(evaluator.heap, subject)),
                                         width);
}

Value format_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    fail("FilterArgumentError", "can't handle positional and keyword arguments at the same time");
  Value values = evaluator.heap.tuple(arguments.positional);
  if (!arguments.named.empty()) {
    Dict* const dict = evaluator.heap.make<Dict>();
    for (const auto& [name, value] : arguments.named) dict->set(evaluator.string(name), value);
    values = {Kind::Dict, dict};
  }
  return evaluator.string(formatted_percent(evaluator, to_text(evaluator.heap, subject), values));
}

Value marked(Evaluator& evaluator, std::string text) {
  const Value value = evaluator.string(std::move(text));
  value.as<Text>().is_markup = true;
  return value;
}

Value escape_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("escape", arguments, {});
  if (subject.is_string() && subject.as<Text>().is_markup) return subject;
  return marked(evaluator, html_escaped(to_text(evaluator.heap, subject)));
}

Value force_escape_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("forceescape", arguments, {});
  return marked(evaluator, html_escaped(to_text(evaluator.heap, subject)));
}

Value safe_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("safe", arguments, {});
  return marked(evaluator, to_text(evaluator.heap, subject));
}

Value string_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("string", arguments, {});
  return subject.is_string() ? subject : evaluator.string(to_text(evaluator.heap, subject));
}

// In a query, where "/" is no separator, space is "+".
std::string url_quoted(std::string_view text, bool keeps_slash) {
  std::string result;
  for (const char byte : text) {
    if (byte == ' ' && !keeps_slash) {
      result += '+';
      continue;
    }
    const bool is_plain =
        (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
        std::string_view("_.-~").find(byte) != std::string_view::npos || (byte == '/' && keeps_slash);
    result += is_plain ? std::string(1, byte) : fmt::format("%{:02X}", static_cast<uint8_t>(byte));
  }
  return result;
}

Value urlencode_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("urlencode", arguments, {});
  if (subject.is_string() || !can_iterate(subject))
    return evaluator.string(url_quoted(to_text(evaluator.heap, subject), true));
  std::vector<std::pair<Value, Value>> pairs;
  if (subject.is(Kind::Dict)) {
    pairs = subject.as<Dict>().entries();
  } else {
    for (const Value& pair : iterate(evaluator.heap, subject)) {
      const auto parts = iterate(evaluator.heap, pair);
      if (parts.size() != 2) fail("ValueError", "urlencode: a pair was expected");
      pairs.emplace_back(parts[0], parts[1]);
    }
  }
  std::string result;
  for (const auto& [key, value] : pairs)
    result +=
        fmt::format("{}{}={}", result.empty() ? "" : "&", url_quoted(to_text(evaluator.heap, key), false),
                    url_quoted(to_text(evaluator.heap, value), false));
  return evaluator.string(std::move(result));
}

Value filesize_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("filesizeformat", arguments, {"binary"});
  double bytes = subject.is_number() ? subject.real() : 0;
  if (subject.is_string()) {
    const auto number = parse_float(subject.text());
    if (!number)
      fail("ValueError", fmt::format("could not convert string to float: {}", repr_of_text(subject.text())));
    bytes = *number;
  } else if (!subject.is_number()) {
    fail_type(
        fmt::format("float() argument must be a string or a real number, not '{}'", type_name(subject)));
  }
  const bool is_binary = bound.is_true_at(0);
  const double base = is_binary ? 1024 : 1000;
  if (bytes == 1) return evaluator.string("1 Byte");
  if (bytes < base) return evaluator.string(fmt::format("{} Bytes", static_cast<int64_t>(bytes)));
  double unit = base;
  std::string result;
  for (const char prefix : std::string_view("kMGTPEZY")) {
    unit *= base;
    const char first = prefix == 'k' && is_binary ? 'K' : prefix;
    result = fmt::format("{:.1f} {}{}B", base * bytes / unit, first, is_binary ? "i" : "");
    if (bytes < unit) break;
  }
  return evaluator.string(std::move(result));
}

Value xmlattr_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("xmlattr", arguments, {"autospace"});
  if (!subject.is(Kind::Dict)) fail_type("xmlattr: a dict was expected");
  std::string result;
  for (const auto& [key, value] : subject.as<Dict>().entries()) {
    if (value.is_none() || value.is_undefined()) continue;
    const std::string name = to_text(evaluator.heap, key);
    if (name.find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      fail("ValueError", fmt::format("Invalid character in attribute name: {}", repr_of_text(name)));
    result += fmt::format("{}{}=\"{}\"", result.empty() ? "" : " ", html_escaped(name),
                          html_escaped(to_text(evaluator.heap, value)));
  }
  if (bound.is_true_at(0, true) && !result.empty()) result.insert(0, " ");
  return evaluator.string(std::move(result));
}

}  // namespace

void add_text_filters(FilterTable& table) {
  table.insert({{"upper", case_filter<upper_text>},
                {"lower", case_filter<lower_text>},
                {"capitalize", case_filter<capitalized_text>},
                {"title", title_filter},
                {"trim", trim_filter},
                {"replace", replace_filter},
                {"indent", indent_filter},
                {"truncate", truncate_filter},
                {"wordcount", wordcount_filter},
                {"center", center_filter},
                {"format", format_filter},
                {"e", escape_filter},
                {"escape", escape_filter},
                {"forceescape", force_escape_filter},
                {"safe", safe_filter},
                {"string", string_filter},
                {"urlencode", urlencode_filter},
                {"filesizeformat", filesize_filter},
                {"xmlattr", xmlattr_filter},
                {"tojson", json_text}});
}

}  // namespace weft::models::jinja
