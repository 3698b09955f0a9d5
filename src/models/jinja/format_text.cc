// "%s" % value and "{}".format(value).
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "models/jinja/evaluator.h"
#include "models/jinja/texts.h"

namespace weft::models::jinja {
namespace {

constexpr int64_t kMostWidth = 1 << 20;

struct Specification {
  std::string fill = " ";
  char align = 0, sign = '-', type = 0, grouping = 0;
  bool is_alternative = false, pads_zeros = false;
  int64_t width = 0, precision = -1;
};

std::string padded(const std::string& text, const Specification& spec, char default_align) {
  const auto length = static_cast<int64_t>(character_count(text));
  if (length >= spec.width) return text;
  const int64_t space = spec.width - length;
  const char align = spec.align != 0 ? spec.align : default_align;
  const int64_t left = align == '<' ? 0 : align == '^' ? space / 2 : space;
  std::string result;
  const bool is_signed =
      align == '=' && !text.empty() && std::string_view("+- ").find(text[0]) != std::string_view::npos;
  if (is_signed) result += text[0];
  for (int64_t i = 0; i < left; ++i) result += spec.fill;
  result += is_signed ? text.substr(1) : text;
  for (int64_t i = left; i < space; ++i) result += spec.fill;
  return result;
}

std::string grouped(const std::string& digits, char by) {
  std::string result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) result += by;
    result += digits[i];
  }
  return result;
}

// Of a number without its sign.
std::string digits_of_whole(uint64_t value, const Specification& spec) {
  switch (spec.type) {
    case 'x': return fmt::format("{}{:x}", spec.is_alternative ? "0x" : "", value);
    case 'X': return fmt::format("{}{:X}", spec.is_alternative ? "0X" : "", value);
    case 'o': return fmt::format("{}{:o}", spec.is_alternative ? "0o" : "", value);
    case 'b': return fmt::format("{}{:b}", spec.is_alternative ? "0b" : "", value);
    default: {
      std::string digits = fmt::format("{}", value);
      return spec.grouping != 0 ? grouped(digits, spec.grouping) : digits;
    }
  }
}

std::string digits_of_real(double value, const Specification& spec) {
  const int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return "inf";
  std::string digits;
  switch (spec.type) {
    case 'f':
    case 'F': digits = fmt::format("{:.{}f}", value, precision); break;
    case '%': return fmt::format("{:.{}f}%", value * 100, precision);
    case 'e': digits = fmt::format("{:.{}e}", value, precision); break;
    case 'E': digits = fmt::format("{:.{}E}", value, precision); break;
    case 'g': digits = fmt::format("{:.{}g}", value, precision); break;
    case 'G': digits = fmt::format("{:.{}G}", value, precision); break;
    default: digits = spec.precision < 0 ? float_text(value) : fmt::format("{:.{}g}", value, precision);
  }
  if (spec.grouping == 0) return digits;
  const size_t point = std::min(digits.find_first_of(".e"), digits.size());
  return grouped(digits.substr(0, point), spec.grouping) + digits.substr(point);
}

std::string number_text(const Value& value, const Specification& spec) {
  const bool is_real =
      value.is(Kind::Float) ||
      (spec.type != 0 && std::string_view("fFeEgG%").find(spec.type) != std::string_view::npos);
  const bool is_negative = is_real ? std::signbit(value.real()) : value.integer() < 0;
  std::string digits = is_real ? digits_of_real(std::abs(value.real()), spec)
                               : digits_of_whole(is_negative ? 0 - static_cast<uint64_t>(value.integer())
                                                             : static_cast<uint64_t>(value.integer()),
                                                 spec);
  const std::string sign = is_negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
  Specification own = spec;
  if (spec.pads_zeros && spec.align == 0) own.fill = "0", own.align = '=';
  return padded(sign + digits, own, '>');
}

class PercentFormat {
 public:
  PercentFormat(Evaluator& evaluator, std::string_view format, const Value& values)
      : evaluator_(evaluator), rest_(format), values_(values) {}

  std::string run() {
    std::string result;
    while (!rest_.empty()) {
      if (rest_[0] != '%') {
        const size_t end = std::min(rest_.find('%'), rest_.size());
        result += rest_.substr(0, end);
        rest_.remove_prefix(end);
        continue;
      }
      rest_.remove_prefix(1);
      const std::string part = conversion();
      evaluator_.heap.charge(part.size());
      result += part;
    }
    const bool is_used = used_ || values_.is(Kind::Dict) || (values_.is(Kind::List));
    if (values_.is(Kind::Tuple) ? position_ < values_.as<Elements>().items.size() : !is_used)
      fail_type("not all arguments converted during string formatting");
    return result;
  }

 private:
  char take() {
    if (rest_.empty()) fail("ValueError", "incomplete format");
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  Value next() {
    if (!values_.is(Kind::Tuple)) {
      if (std::exchange(used_, true)) fail_type("not enough arguments for format string");
      return values_;
    }
    const auto& items = values_.as<Elements>().items;
    if (position_ >= items.size()) fail_type("not enough arguments for format string");
    return items[position_++];
  }
  int64_t number(char& c) {
    if (c == '*') {
      const Value width = next();
      if (!width.is_whole()) fail_type("* wants int");
      c = take();
      return std::clamp<int64_t>(width.integer(), -kMostWidth, kMostWidth);
    }
    int64_t value = 0;
    for (; c >= '0' && c <= '9'; c = take())
      if ((value = value * 10 + (c - '0')) > kMostWidth) fail("ValueError", "width too big");
    return value;
  }

  std::string conversion() {
    char c = take();
    if (c == '%') return "%";
    std::optional<Value> named;
    if (c == '(') {
      const size_t end = rest_.find(')');
      if (end == std::string_view::npos) fail("ValueError", "incomplete format key");
      if (!values_.is(Kind::Dict)) fail_type("format requires a mapping");
      const std::string key(rest_.substr(0, end));
      const Value* found = values_.as<Dict>().find(evaluator_.string(key));
      if (found == nullptr) fail("KeyError", repr_of_text(key));
      named = *found;
      rest_.remove_prefix(end + 1);
      c = take();
    }
    Specification spec;
    bool is_left = false;
    for (; std::string_view("-+ #0").find(c) != std::string_view::npos; c = take()) {
      if (c == '-') is_left = true;
      if (c == '+' || (c == ' ' && spec.sign != '+')) spec.sign = c;
      if (c == '#') spec.is_alternative = true;
      if (c == '0') spec.pads_zeros = true;
    }
    spec.width = number(c);
    if (spec.width < 0) is_left = true, spec.width = -spec.width;
    if (c == '.') {
      c = take();
      spec.precision = std::max<int64_t>(0, number(c));
    }
    while (c == 'l' || c == 'h' || c == 'L') c = take();
    spec.type = c;
    spec.align = is_left ? '<' : '\0';
    return converted(named ? *named : next(), spec);
  }

  std::string converted(const Value& value, Specification spec) {
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a': {
        std::string text =
            spec.type == 's' ? to_text(evaluator_.heap, value) : to_repr(evaluator_.heap, value);
        if (spec.precision >= 0) text = std::string(text_between(text, 0, spec.precision));
        return padded(text, spec, '>');
      }
      case 'c': return padded(value.is_string() ? value.text() : character_of(value), spec, '>');
      case 'd':
      case 'i':
      case 'u': spec.type = 'd'; [[fallthrough]];
      case 'x':
      case 'X':
      case 'o': {
        if (value.is_undefined()) fail_undefined(value);
        if (!value.is_number() || (spec.type != 'd' && !value.is_whole()))
          fail_type(fmt::format("%{} format: {} is required, not {}", spec.type,
                                spec.type == 'd' ? "a real number" : "an integer", type_name(value)));
        if (!value.is_whole() && !(std::abs(value.real()) < 9e18))
          fail("OverflowError", "a number has more than 64 bits");
        return number_text(value.is_whole() ? value : Value::integer(static_cast<int64_t>(value.real())),
                           spec);
      }
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (value.is_undefined()) fail_undefined(value);
        if (!value.is_number()) fail_type(fmt::format("must be real number, not {}", type_name(value)));
        return number_text(Value::real(value.real()), spec);
      default:
        fail("ValueError", fmt::format("unsupported format character '{}' (0x{:x})", spec.type,
                                       static_cast<uint8_t>(spec.type)));
    }
  }

  static std::string character_of(const Value& value) {
    if (!value.is_whole() || value.integer() < 1 || value.integer() > 126)
      fail_type("%c requires int or char");
    return {1, static_cast<char>(value.integer())};
  }

  Evaluator& evaluator_;
  std::string_view rest_;
  Value values_;
  size_t position_ = 0;
  bool used_ = false;
};

// What stands behind ":" in a field.
Specification specification_of(std::string_view text) {
  Specification spec;
  const auto all = characters(text);
  size_t at = 0;
  const auto one = [&](size_t index) {
    return index < all.size() && all[index].size() == 1 ? all[index][0] : '\0';
  };
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (all.size() > 1 && is_align(one(1)))
    spec.fill = std::string(all[0]), spec.align = one(1), at = 2;
  else if (is_align(one(0)))
    spec.align = one(0), at = 1;
  if (one(at) == '+' || one(at) == '-' || one(at) == ' ') spec.sign = one(at++);
  if (one(at) == '#') spec.is_alternative = true, ++at;
  if (one(at) == '0') spec.pads_zeros = true, ++at;
  const auto number = [&] {
    int64_t value = 0;
    for (; std::isdigit(static_cast<unsigned char>(one(at))); ++at)
      if ((value = value * 10 + (one(at) - '0')) > kMostWidth)
        fail("ValueError", "Too many decimal digits in format string");
    return value;
  };
  spec.width = number();
  if (one(at) == ',' || one(at) == '_') spec.grouping = one(at++);
  if (one(at) == '.') {
    ++at;
    if (!std::isdigit(static_cast<unsigned char>(one(at))))
      fail("ValueError", "Format specifier missing precision");
    spec.precision = number();
  }
  if (at < all.size()) spec.type = one(at++);
  if (at < all.size()) fail("ValueError", "Invalid format specifier");
  return spec;
}

std::string value_by_specification(Evaluator& evaluator, const Value& value, std::string_view text) {
  if (text.empty()) return to_text(evaluator.heap, value);
  const Specification spec = specification_of(text);
  const auto check_type = [&](std::string_view types) {
    if (spec.type != 0 && types.find(spec.type) == std::string_view::npos)
      fail("ValueError",
           fmt::format("Unknown format code '{}' for object of type '{}'", spec.type, type_name(value)));
  };
  evaluator.heap.charge(static_cast<size_t>(spec.width));
  if (value.is_number() && !value.is(Kind::Boolean)) {
    check_type(value.is_whole() ? "bdnoxXeEfFgG%" : "eEfFgGn%");
    return number_text(value, spec);
  }
  if (!value.is_string())
    fail_type(fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
  check_type("s");
  if (spec.align == '=') fail("ValueError", "'=' alignment not allowed in string format specifier");
  std::string shown = value.text();
  if (spec.precision >= 0) shown = std::string(text_between(shown, 0, spec.precision));
  return padded(shown, spec, '<');
}

// One field, between the braces: "name.attribute[key]!r:spec".
std::string field_text(Evaluator& evaluator, std::string_view field, const Arguments& arguments,
                       size_t& next) {
  const size_t colon = std::min(field.find(':'), field.size());
  std::string_view path = field.substr(0, colon), spec = colon < field.size() ? field.substr(colon + 1) : "";
  if (spec.find_first_of("{}") != std::string_view::npos)
    fail("ValueError", "fields within a format's specification are not supported");
  char conversion = 0;
  if (const size_t mark = path.rfind('!'); mark != std::string_view::npos) {
    if (mark + 2 != path.size()) fail("ValueError", "expected ':' after conversion specifier");
    conversion = path[mark + 1];
    path = path.substr(0, mark);
  }
  const size_t end = std::min(path.find_first_of(".["), path.size());
  const std::string name(path.substr(0, end));
  path.remove_prefix(end);
  Value value;
  if (name.empty() || is_all(name, CharacterClass::Digit)) {
    const size_t index = name.empty() ? next++ : name.size() < 9 ? std::stoul(name) : SIZE_MAX;
    if (index >= arguments.positional.size())
      fail("IndexError", fmt::format("Replacement index {} out of range for positional args tuple", index));
    value = arguments.positional[index];
  } else {
    const auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [&](const auto& argument) { return argument.first == name; });
    if (found == arguments.named.end()) fail("KeyError", repr_of_text(name));
    value = found->second;
  }
  while (!path.empty()) {
    if (path[0] == '.') {
      const size_t stop = std::min(path.find_first_of(".[", 1), path.size());
      value = evaluator.attribute(value, evaluator.string(std::string(path.substr(1, stop - 1))));
      path.remove_prefix(stop);
    } else {
      const size_t stop = path.find(']');
      if (stop == std::string_view::npos) fail("ValueError", "Missing ']' in format string");
      const std::string key(path.substr(1, stop - 1));
      const auto number = is_all(key, CharacterClass::Digit) ? parse_integer(key, 10) : std::nullopt;
      value = evaluator.item(value, number ? *number : evaluator.string(key));
      path.remove_prefix(stop + 1);
    }
  }
  if (conversion == 'r' || conversion == 'a')
    value = evaluator.string(to_repr(evaluator.heap, value));
  else if (conversion == 's')
    value = evaluator.string(to_text(evaluator.heap, value));
  else if (conversion != 0)
    fail("ValueError", fmt::format("Unknown conversion specifier '{}'", conversion));
  return value_by_specification(evaluator, value, spec);
}

}  // namespace

std::string formatted_percent(Evaluator& evaluator, const std::string& format, const Value& values) {
  return PercentFormat(evaluator, format, values).run();
}

Value format_text(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  std::string result;
  std::string_view rest = self.text();
  size_t next = 0;
  while (!rest.empty()) {
    const size_t brace = std::min(rest.find_first_of("{}"), rest.size());
    result += rest.substr(0, brace);
    rest.remove_prefix(brace);
    if (rest.empty()) break;
    if (rest.size() > 1 && rest[1] == rest[0]) {
      result += rest[0];
      rest.remove_prefix(2);
      continue;
    }
    if (rest[0] == '}') fail("ValueError", "Single '}' encountered in format string");
    const size_t end = rest.find('}');
    if (end == std::string_view::npos)
      fail("ValueError", rest.size() == 1 ? "Single '{' encountered in format string"
                                          : "expected '}' before end of string");
    const std::string part = field_text(evaluator, rest.substr(1, end - 1), arguments, next);
    evaluator.heap.charge(part.size());
    result += part;
    rest.remove_prefix(end + 1);
  }
  return evaluator.string(std::move(result));
}

}  // namespace weft::models::jinja
