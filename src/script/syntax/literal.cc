#include "script/syntax/literal.h"

#include <fmt/format.h>

#include <charconv>

namespace weft::jit {
namespace {

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

}  // namespace

std::optional<Literal> parse_number(const std::string& digits) {
  const char* const end = digits.data() + digits.size();
  if (digits.size() > 1 && digits[0] == '0' &&
      std::string_view("xXoObB").find(digits[1]) != std::string_view::npos) {
    const int base = (digits[1] | 0x20) == 'x' ? 16 : (digits[1] | 0x20) == 'o' ? 8 : 2;
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(digits.data() + 2, end, value, base);
    if (error != std::errc() || stop != end) return std::nullopt;
    return Literal(value);
  }
  if (digits.find_first_of(".eEjJ") == std::string::npos) {
    int64_t value = 0;
    if (std::from_chars(digits.data(), end, value).ec != std::errc()) return std::nullopt;
    return Literal(value);
  }
  const bool imaginary = (digits.back() | 0x20) == 'j';
  double value = 0;
  // Out of range is infinity or zero, as in Python.
  const auto result = std::from_chars(digits.data(), end - (imaginary ? 1 : 0), value);
  if (result.ec == std::errc::result_out_of_range) value = std::strtod(digits.c_str(), nullptr);
  if (imaginary) return Literal(std::complex<double>(0, value));
  return Literal(value);
}

StringToken split_string(std::string_view token) {
  StringToken result;
  size_t at = 0;
  for (; token[at] != '"' && token[at] != '\''; ++at) {
    result.is_raw |= (token[at] | 0x20) == 'r';
    result.is_format |= (token[at] | 0x20) == 'f';
  }
  const bool triple = token.size() - at >= 6 && token[at + 1] == token[at] && token[at + 2] == token[at];
  result.begin = at + (triple ? 3 : 1);
  result.end = token.size() - (triple ? 3 : 1);
  return result;
}

std::optional<std::string> unescape_string(std::string_view body, std::string& message) {
  std::string result;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 >= body.size()) {
      result += body[i];
      continue;
    }
    const char c = body[++i];
    const auto hexadecimal = [&](size_t count) {
      uint32_t code = 0;
      const std::string_view digits = body.substr(std::min(i + 1, body.size()), count);
      const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
      if (error != std::errc() || stop != digits.data() + count || code > 0x10ffff) return false;
      append_utf8(result, code);
      i += count;
      return true;
    };
    constexpr std::string_view kNames = "ntrabfv0\\'\"", kValues("\n\t\r\a\b\f\v\0\\'\"", 11);
    if (c == '\n') continue;
    if (c == 'x' || c == 'u' || c == 'U') {
      if (!hexadecimal(c == 'x' ? 2 : c == 'u' ? 4 : 8)) {
        message = fmt::format("malformed escape '\\{}'", c);
        return std::nullopt;
      }
    } else if (c >= '0' && c <= '7') {
      uint32_t code = 0;
      size_t count = 0;
      for (; count < 3 && i + count < body.size() && body[i + count] >= '0' && body[i + count] <= '7';
           ++count) {
        code = code * 8 + static_cast<uint32_t>(body[i + count] - '0');
      }
      append_utf8(result, code);
      i += count - 1;
    } else if (const size_t found = kNames.find(c); found != std::string_view::npos) {
      result += kValues[found];
    } else {
      result += '\\';
      result += c;
    }
  }
  return result;
}

std::string quote_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += '\\', result += c;
    else if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else if (c == '\r')
      result += "\\r";
    else if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\{:03o}", byte);
    else
      result += c;
  }
  return result + "\"";
}

}  // namespace weft::jit
