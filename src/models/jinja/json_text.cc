// The filter tojson as transformers has it: json.dumps, nothing escaped for HTML.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/characters.h"
#include "models/jinja/evaluator.h"

namespace weft::models::jinja {
namespace {

constexpr int kMostJsonDepth = 200;

class JsonPrinter {
 public:
  JsonPrinter(Heap& heap, bool is_ascii, bool is_sorted, std::optional<std::string> indent, std::string comma,
              std::string colon)
      : heap_(heap),
        is_ascii_(is_ascii),
        is_sorted_(is_sorted),
        indent_(std::move(indent)),
        comma_(std::move(comma)),
        colon_(std::move(colon)) {}

  void print(const Value& value, int depth = 0) {
    if (depth > kMostJsonDepth) fail("RecursionError", "a value is nested too deep for JSON");
    heap_.step();
    switch (value.kind()) {
      case Kind::None: return add("null");
      case Kind::Boolean: return add(value.integer() != 0 ? "true" : "false");
      case Kind::Integer: return add(std::to_string(value.integer()));
      case Kind::Float: return add(number(value.real()));
      case Kind::String: return print_text(value.text());
      case Kind::List:
      case Kind::Tuple: return print_list(value.as<Elements>().items, depth);
      case Kind::Dict: return print_dict(value.as<Dict>(), depth);
      default: fail_type(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void add(std::string_view text) {
    heap_.charge(text.size());
    text_ += text;
  }
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return float_text(value);
  }
  void new_line(int depth) {
    if (!indent_) return;
    add("\n");
    for (int i = 0; i < depth; ++i) add(*indent_);
  }
  void print_list(const std::vector<Value>& items, int depth) {
    if (items.empty()) return add("[]");
    add("[");
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) add(comma_);
      new_line(depth + 1);
      print(items[i], depth + 1);
    }
    new_line(depth);
    add("]");
  }
  void print_dict(const Dict& dict, int depth) {
    if (dict.entries().empty()) return add("{}");
    std::vector<std::pair<Value, Value>> entries = dict.entries();
    if (is_sorted_)
      std::stable_sort(entries.begin(), entries.end(),
                       [&](const auto& a, const auto& b) { return is_less(heap_, a.first, b.first); });
    add("{");
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) add(comma_);
      new_line(depth + 1);
      print_key(entries[i].first);
      add(colon_);
      print(entries[i].second, depth + 1);
    }
    new_line(depth);
    add("}");
  }
  void print_key(const Value& key) {
    switch (key.kind()) {
      case Kind::String: return print_text(key.text());
      case Kind::None: return add("\"null\"");
      case Kind::Boolean: return add(key.integer() != 0 ? "\"true\"" : "\"false\"");
      case Kind::Integer: return add(fmt::format("\"{}\"", key.integer()));
      case Kind::Float: return add(fmt::format("\"{}\"", number(key.real())));
      default: fail_type(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
  }
  void print_text(std::string_view text) {
    std::string result = "\"";
    while (!text.empty()) {
      const TextCharacter character = first_character(text);
      const size_t length = std::max<size_t>(1, character.length);
      const auto code = static_cast<uint32_t>(character.code);
      switch (text[0]) {
        case '"': result += "\\\""; break;
        case '\\': result += "\\\\"; break;
        case '\n': result += "\\n"; break;
        case '\r': result += "\\r"; break;
        case '\t': result += "\\t"; break;
        case '\b': result += "\\b"; break;
        case '\f': result += "\\f"; break;
        default:
          if (code < 0x20 || (is_ascii_ && code >= 0x7F && code < 0x10000 && code != 0x7F))
            result += fmt::format("\\u{:04x}", code);
          else if (is_ascii_ && code >= 0x10000)
            result += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                                  0xDC00 + ((code - 0x10000) & 0x3FF));
          else
            result += text.substr(0, length);
      }
      text.remove_prefix(length);
    }
    add(result + "\"");
  }

  Heap& heap_;
  std::string text_;
  bool is_ascii_, is_sorted_;
  std::optional<std::string> indent_;
  std::string comma_, colon_;
};

}  // namespace

Value json_text(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  std::optional<std::string> indent;
  const Value given = bound.get(1);
  if (given.is_string()) {
    indent = given.text();
  } else if (!given.is_none()) {
    const int64_t width = bound.integer(1, 0);
    if (width > 1024) fail("ValueError", "tojson: the indent is wider than 1024");
    indent = std::string(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
  }
  std::string comma = indent ? "," : ", ", colon = ": ";
  if (!bound.get(2).is_none()) {
    const std::vector<Value> parts = iterate(evaluator.heap, bound.get(2));
    if (parts.size() != 2 || !parts[0].is_string() || !parts[1].is_string())
      fail_type("tojson: separators must be two strings");
    comma = parts[0].text(), colon = parts[1].text();
  }
  JsonPrinter printer(evaluator.heap, bound.is_true_at(0), bound.is_true_at(3), indent, comma, colon);
  printer.print(subject);
  return evaluator.string(printer.take());
}

}  // namespace weft::models::jinja
