// Values as Python prints them.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "models/characters.h"
#include "models/jinja/objects.h"
#include "models/jinja/texts.h"
#include "models/jinja/value.h"

namespace weft::models::jinja {
namespace {

constexpr int kMostPrinted = 200;  // values within each other

class Printer {
 public:
  explicit Printer(Heap& heap) : heap_(heap) {}

  void print(const Value& value, int depth = 0) {
    if (depth > kMostPrinted) fail("RecursionError", "a value is nested too deep to be printed");
    heap_.step();
    switch (value.kind()) {
      case Kind::None: return add("None");
      case Kind::Undefined: return add("Undefined");
      case Kind::Boolean: return add(value.integer() != 0 ? "True" : "False");
      case Kind::Integer: return add(std::to_string(value.integer()));
      case Kind::Float: return add(float_text(value.real()));
      case Kind::String:
        return value.as<Text>().is_markup ? add(fmt::format("Markup({})", repr_of_text(value.text())))
                                          : add(repr_of_text(value.text()));
      case Kind::List: return print_items(value.as<Elements>().items, "[", "]", depth);
      case Kind::Tuple: {
        const auto& items = value.as<Elements>().items;
        return print_items(items, "(", items.size() == 1 ? ",)" : ")", depth);
      }
      case Kind::Dict: return print_dict(value.as<Dict>(), depth);
      case Kind::View:
        add(value.as<Elements>().view);
        return print_items(value.as<Elements>().items, "([", "])", depth);
      case Kind::Range: {
        const Range& range = value.as<Range>();
        return add(range.step == 1 ? fmt::format("range({}, {})", range.start, range.stop)
                                   : fmt::format("range({}, {}, {})", range.start, range.stop, range.step));
      }
      case Kind::Namespace:
        add("<Namespace ");
        print_dict(*value.as<Namespace>().attributes, depth);
        return add(">");
      case Kind::Macro: return add(fmt::format("<Macro {}>", repr_of_text(value.as<Macro>().name())));
      case Kind::Loop: {
        const Loop& loop = value.as<Loop>();
        return add(fmt::format("<LoopContext {}/{}>", loop.index0 + 1, loop.items.size()));
      }
      default: return add(fmt::format("<{}>", type_name(value)));
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void add(std::string_view text) {
    heap_.charge(text.size());
    text_ += text;
  }
  void print_items(const std::vector<Value>& items, const char* open, const char* close, int depth) {
    add(open);
    const char* between = "";
    for (const Value& item : items) {
      add(between);
      print(item, depth + 1);
      between = ", ";
    }
    add(close);
  }
  void print_dict(const Dict& dict, int depth) {
    add("{");
    const char* between = "";
    for (const auto& [key, value] : dict.entries()) {
      add(between);
      print(key, depth + 1);
      add(": ");
      print(value, depth + 1);
      between = ", ";
    }
    add("}");
  }

  Heap& heap_;
  std::string text_;
};

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t mark = text.find('e');
  int exponent = 0;
  const char* const digits_of_exponent = text.data() + mark + 1 + (text[mark + 1] == '+' ? 1 : 0);
  std::from_chars(digits_of_exponent, end, exponent);
  std::string sign, digits;
  for (const char c : text.substr(0, mark))
    if (c == '-')
      sign = "-";
    else if (c != '.')
      digits += c;
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16)
    return fmt::format("{}{}{}{}e{}{:02}", sign, digits.substr(0, 1), count > 1 ? "." : "", digits.substr(1),
                       exponent < 0 ? '-' : '+', std::abs(exponent));
  if (exponent < 0)
    return fmt::format("{}0.{}{}", sign, std::string(static_cast<size_t>(-exponent - 1), '0'), digits);
  if (count <= exponent + 1)
    return fmt::format("{}{}{}.0", sign, digits, std::string(static_cast<size_t>(exponent + 1 - count), '0'));
  const auto whole = static_cast<size_t>(exponent) + 1;
  return fmt::format("{}{}.{}", sign, digits.substr(0, whole), digits.substr(whole));
}

std::string repr_of_text(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, quote);
  while (!text.empty()) {
    const TextCharacter character = first_character(text);
    const size_t length = std::max<size_t>(1, character.length);
    const auto code = static_cast<uint32_t>(character.code);
    if (text[0] == quote || text[0] == '\\')
      result += '\\', result += text[0];
    else if (text[0] == '\n')
      result += "\\n";
    else if (text[0] == '\r')
      result += "\\r";
    else if (text[0] == '\t')
      result += "\\t";
    else if (is_all(text.substr(0, length), CharacterClass::Printable))
      result += text.substr(0, length);
    else if (code < 0x100)
      result += fmt::format("\\x{:02x}", code);
    else if (code < 0x10000)
      result += fmt::format("\\u{:04x}", code);
    else
      result += fmt::format("\\U{:08x}", code);
    text.remove_prefix(length);
  }
  return result += quote;
}

std::string to_repr(Heap& heap, const Value& value) {
  Printer printer(heap);
  printer.print(value);
  return printer.take();
}

std::string to_text(Heap& heap, const Value& value) {
  if (value.is_string()) return value.text();
  if (value.is_undefined()) return "";
  return to_repr(heap, value);
}

}  // namespace weft::models::jinja
