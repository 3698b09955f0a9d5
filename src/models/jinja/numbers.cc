// Text to numbers, as Python's int(), float() and round().
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "models/jinja/functions.h"
#include "models/jinja/texts.h"

namespace weft::models::jinja {
namespace {

// Digits with single "_" between them, without these; nothing where one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
      continue;
    }
    const bool is_between = i > 0 && i + 1 < text.size() &&
                            std::isxdigit(static_cast<unsigned char>(text[i - 1])) &&
                            std::isxdigit(static_cast<unsigned char>(text[i + 1]));
    if (!is_between) return std::nullopt;
  }
  return digits;
}

}  // namespace

std::optional<Value> parse_integer(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  text = stripped(text, true, true);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const char letter = static_cast<char>(std::tolower(static_cast<unsigned char>(text[1])));
    const int64_t named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (named != 0 && (base == 0 || base == named)) {
      base = named;
      text.remove_prefix(text[2] == '_' ? 3 : 2);
    }
  }
  const auto digits = without_underscores(text);
  if (!digits || digits->empty() || !std::isalnum(static_cast<unsigned char>((*digits)[0])))
    return std::nullopt;
  const std::string signed_digits = (is_negative ? "-" : "") + *digits;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(signed_digits.data(), signed_digits.data() + signed_digits.size(),
                                            number, base == 0 ? 10 : static_cast<int>(base));
  if (end != signed_digits.data() + signed_digits.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) fail("OverflowError", "a number has more than 64 bits");
  return Value::integer(number);
}

std::optional<double> parse_float(std::string_view text) {
  text = stripped(text, true, true);
  const auto digits = without_underscores(text);
  if (!digits || digits->empty()) return std::nullopt;
  std::string_view rest = *digits;
  const bool is_negative = rest[0] == '-';
  if (is_negative || rest[0] == '+') rest.remove_prefix(1);
  const std::string word = lower_text(rest);
  double number = 0;
  if (word == "inf" || word == "infinity") {
    number = std::numeric_limits<double>::infinity();
  } else if (word == "nan") {
    number = std::numeric_limits<double>::quiet_NaN();
  } else {
    // No hexadecimal, no names: digits, a point, an exponent.
    if (rest.empty() || rest.find_first_not_of("0123456789.eE+-") != std::string_view::npos ||
        rest[0] == '+' || rest[0] == '-')
      return std::nullopt;
    const std::string copy(rest);
    char* end = nullptr;
    number = std::strtod(copy.c_str(), &end);
    if (end != copy.c_str() + copy.size()) return std::nullopt;
  }
  return is_negative ? -number : number;
}

double rounded(double value, int64_t digits) {
  if (!std::isfinite(value)) return value;
  if (digits >= 0) {
    // printf rounds the exact value, to the even digit where it is a tie.
    return std::strtod(fmt::format("{:.{}f}", value, std::min<int64_t>(digits, 330)).c_str(), nullptr);
  }
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  return std::isinf(scale) ? std::copysign(0.0, value) : std::nearbyint(value / scale) * scale;
}

}  // namespace weft::models::jinja
