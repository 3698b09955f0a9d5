// String literals and f-strings.
#include <algorithm>

#include "script/syntax/expression_parser.h"
#include "script/syntax/literal.h"

namespace weft::jit {

ExprPtr ExpressionParser::string() {
  const size_t begin = token().begin;
  std::vector<Expr::FString::Part> parts;
  std::string literal;
  bool formatted = false;
  while (token().kind == TokenKind::String) {
    const StringToken piece = split_string(text());
    const size_t start = token().begin + piece.begin, end = token().begin + piece.end;
    if (piece.is_format) {
      formatted = true;
      format_parts(start, end, piece.is_raw, literal, parts);
    } else {
      literal += unescape(start, end, piece.is_raw);
    }
    advance();
  }
  if (!formatted) return make(Expr::Constant{std::move(literal)}, since(begin));
  if (!literal.empty()) parts.push_back({std::move(literal), nullptr, 0, ""});
  return make(Expr::FString{std::move(parts)}, since(begin));
}

std::string ExpressionParser::unescape(size_t begin, size_t end, bool raw) const {
  const std::string_view body = std::string_view(source_->text).substr(begin, end - begin);
  if (raw) return std::string(body);
  std::string message;
  auto value = unescape_string(body, message);
  if (!value) syntax_error(Range{source_, begin, end}, message);
  return *value;
}

void ExpressionParser::format_parts(size_t begin, size_t end, bool raw, std::string& literal,
                                    std::vector<Expr::FString::Part>& parts) {
  const std::string& source = source_->text;
  size_t start = begin;
  for (size_t i = begin; i < end;) {
    const char c = source[i];
    if (c == '\\' && !raw) {
      i += 2;
    } else if ((c == '{' || c == '}') && i + 1 < end && source[i + 1] == c) {
      literal += unescape(start, i + 1, raw);
      i += 2;
      start = i;
    } else if (c == '}') {
      syntax_error(Range{source_, i, i + 1}, "a single '}' in an f-string");
    } else if (c == '{') {
      literal += unescape(start, i, raw);
      i = start = format_value(i + 1, end, literal, parts);
    } else {
      ++i;
    }
  }
  literal += unescape(start, end, raw);
}

size_t ExpressionParser::format_value(size_t begin, size_t end, std::string& literal,
                                      std::vector<Expr::FString::Part>& parts) {
  const std::string& source = source_->text;
  const size_t stop = end_of_value(begin, end);
  size_t i = stop;
  Expr::FString::Part part;
  size_t expression_end = stop;
  if (source[i] == '=') {
    literal += source.substr(begin, i + 1 - begin);
    ++i;
    part.conversion = 'r';
  }
  if (i < end && source[i] == '!') {
    part.conversion = i + 1 < end ? source[i + 1] : '\0';
    if (part.conversion != 'r' && part.conversion != 's' && part.conversion != 'a') {
      syntax_error(Range{source_, i, i + 1}, "an f-string's conversion is !r, !s or !a");
    }
    i += 2;
  }
  if (i < end && source[i] == ':') {
    const size_t close = source.find('}', i);
    if (close == std::string::npos || close >= end)
      syntax_error(Range{source_, begin - 1, begin}, "this '{' is never closed");
    part.spec = source.substr(i + 1, close - i - 1);
    if (part.spec.find('{') != std::string::npos)
      syntax_error(Range{source_, i, close}, "nested fields in a format are not part of TorchScript");
    i = close;
  }
  if (i >= end || source[i] != '}')
    syntax_error(Range{source_, begin - 1, begin}, "this '{' is never closed");
  if (source.find_first_not_of(" \t\n", begin) >= expression_end)
    syntax_error(Range{source_, begin - 1, i + 1}, "an f-string's field is empty");
  part.text = std::move(literal);
  literal.clear();
  const Nesting nesting(*this);
  ExpressionParser inner(source_, begin, expression_end, true, depth_);
  part.value = inner.only_expression();
  links_ = std::max(links_, inner.links_);
  parts.push_back(std::move(part));
  return i + 1;
}

size_t ExpressionParser::end_of_value(size_t begin, size_t end) const {
  const std::string& source = source_->text;
  int depth = 0;
  char quote = 0;
  for (size_t i = begin; i < end; ++i) {
    const char c = source[i];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (depth > 0 && (c == ')' || c == ']' || c == '}')) {
      --depth;
    } else if (depth == 0 && (c == '}' || c == ':')) {
      return i;
    } else if (depth == 0 && (c == '!' || c == '=')) {
      const bool doubled = i + 1 < end && source[i + 1] == '=';
      const bool after = i > begin && (source[i - 1] == '=' || source[i - 1] == '<' || source[i - 1] == '>' ||
                                       source[i - 1] == '!');
      if (!doubled && !after) return i;
      if (doubled) ++i;
    }
  }
  syntax_error(Range{source_, begin - 1, begin}, "this '{' is never closed");
}

}  // namespace weft::jit
