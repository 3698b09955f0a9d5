// The values of literals.
#pragma once

#include <complex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace weft::jit {

using Literal = std::variant<std::monostate, bool, int64_t, double, std::complex<double>, std::string>;

// Of a number without underscores; nullopt when an integer does not fit.
std::optional<Literal> parse_number(const std::string& digits);

// Where a string token's text is, between its quotes.
struct StringToken {
  bool is_raw = false, is_format = false;
  size_t begin = 0, end = 0;
};
StringToken split_string(std::string_view token);

// Escapes replaced, as UTF-8; nullopt with a message for a malformed one.
std::optional<std::string> unescape_string(std::string_view body, std::string& message);

// A string as its literal, in double quotes.
std::string quote_string(std::string_view text);

}  // namespace weft::jit
