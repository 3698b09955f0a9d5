#include "script/builtins/format.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <optional>

#include "weft/error.h"

namespace weft::jit {

namespace {

// As PyTorch's scripts write it: 6.0 is "6.", 0.1 has all its 17 digits.
std::string float_text(double value) {
  if (value >= -0x1p63 && value < 0x1p63 && static_cast<double>(static_cast<int64_t>(value)) == value) {
    return fmt::format("{}.", static_cast<int64_t>(value));
  }
  return std::isnan(value) ? "nan" : fmt::format("{:.17g}", value);
}

std::string joined(const std::vector<IValue>& values) {
  std::string text;
  for (const IValue& value : values) text += (text.empty() ? "" : ", ") + display(value);
  return text;
}

}  // namespace

std::string display(const IValue& value) {
  switch (value.tag()) {
    case IValue::Tag::String: return value.to_string();
    case IValue::Tag::Device: return value.to_device().str();
    case IValue::Tag::Float: return float_text(value.to_double());
    case IValue::Tag::List: return "[" + joined(value.to_list()->values) + "]";
    case IValue::Tag::Tuple:
      if (value.to_tuple()->type) return value.repr();
      return "(" + joined(value.to_tuple()->values) + (value.to_tuple()->values.size() == 1 ? ",)" : ")");
    case IValue::Tag::Complex: {
      const std::complex<double> z = value.to_complex();
      return float_text(z.real()) + (z.imag() >= 0 ? "+" : "-") + float_text(std::fabs(z.imag())) + "j";
    }
    case IValue::Tag::Dict: {
      std::string text;
      for (const auto& [key, item] : value.to_dict()->items())
        text += (text.empty() ? "" : ", ") + display(key) + ": " + display(item);
      return "{" + text + "}";
    }
    default: return value.repr();
  }
}

namespace {

[[noreturn]] void fail(const std::string& format, const std::string& what) {
  throw_error(ErrorKind::Value, fmt::format("format: {}, in {}", what, IValue(format).repr()));
}

// Python's format(value, spec), for numbers and strings.
std::string with_spec(const std::string& format, const IValue& value, const std::string& spec) {
  if (spec.empty()) return display(value);
  try {
    const std::string field = "{:" + spec + "}";
    const char type = spec.back();
    if (type == '%') {
      const std::string percent = "{:" + spec.substr(0, spec.size() - 1) + "f}";
      return fmt::format(fmt::runtime(percent), value.to_double() * 100) + "%";
    }
    const bool is_float_type = std::string_view("eEfFgG").find(type) != std::string_view::npos;
    if (value.is_double() || (is_float_type && value.is_number())) {
      // Without a type a float keeps a digit after the point, as str() has it.
      if (!is_float_type && spec.find('.') == std::string::npos)
        return with_spec(format, display(value),
                         std::isdigit(static_cast<unsigned char>(spec[0])) ? ">" + spec : spec);
      return fmt::format(fmt::runtime(field), value.to_double());
    }
    if (value.is_int() || value.is_bool()) return fmt::format(fmt::runtime(field), value.to_int());
    if (value.is_string()) return fmt::format(fmt::runtime(field), value.to_string());
  } catch (const fmt::format_error& error) {
    fail(format,
         fmt::format("the specification '{}' does not fit {} ({})", spec, value.repr(), error.what()));
  }
  fail(format,
       fmt::format("the specification '{}' needs a number or a str, got {}", spec, value.type()->str()));
}

// Replacement fields in order: "{}" takes the next value, "{2}" that one.
class Formatter {
 public:
  Formatter(const std::string& format, std::span<const IValue> values) : format_(format), values_(values) {}

  std::string run() {
    std::string text;
    for (size_t at = 0; at < format_.size();) {
      const char c = format_[at];
      if ((c == '{' || c == '}') && at + 1 < format_.size() && format_[at + 1] == c) {
        text += c;
        at += 2;
      } else if (c == '{') {
        const size_t close = format_.find('}', at);
        if (close == std::string::npos) fail(format_, "'{' without '}'");
        text += field(format_.substr(at + 1, close - at - 1));
        at = close + 1;
      } else {
        if (c == '}') fail(format_, "'}' without '{'");
        text += c;
        ++at;
      }
    }
    return text;
  }

 private:
  std::string field(const std::string& inside) {
    const size_t colon = inside.find(':');
    std::string name = inside.substr(0, colon);
    const std::string spec = colon == std::string::npos ? "" : inside.substr(colon + 1);
    bool as_repr = false;
    if (const size_t mark = name.find('!'); mark != std::string::npos) {
      as_repr = name.substr(mark) == "!r";
      name.resize(mark);
    }
    const IValue& value = values_[index(name)];
    return with_spec(format_, as_repr ? IValue(value.repr()) : value, spec);
  }

  size_t index(const std::string& name) {
    size_t found = 0;
    if (name.empty()) {
      found = next_++;
    } else {
      for (const char c : name) {
        if (!std::isdigit(static_cast<unsigned char>(c)) || name.size() > 6)
          fail(format_, fmt::format("field '{}': fields are numbers in TorchScript", name));
        found = found * 10 + static_cast<size_t>(c - '0');
      }
    }
    if (found >= values_.size()) {
      throw_error(ErrorKind::Index, fmt::format("format: field {} of {} values, in {}", found, values_.size(),
                                                IValue(format_).repr()));
    }
    return found;
  }

  const std::string& format_;
  std::span<const IValue> values_;
  size_t next_ = 0;
};

}  // namespace

std::string format_values(const std::string& format, std::span<const IValue> values) {
  return Formatter(format, values).run();
}

}  // namespace weft::jit
