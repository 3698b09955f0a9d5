// A template's text as tokens: jinja2's with trim_blocks and lstrip_blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::models::jinja {

enum class TokenKind : uint8_t {
  Data,
  VariableBegin,
  VariableEnd,
  BlockBegin,
  BlockEnd,
  Name,
  String,
  Integer,
  Float,
  Operator,
  End
};

struct Token {
  TokenKind kind = TokenKind::End;
  int line = 1;
  std::string text;  // of strings what they mean, of numbers without "_"
};

// Failure (TemplateSyntaxError) of a place in the text.
[[noreturn]] void fail_syntax(int line, const std::string& message);

std::vector<Token> tokenize(std::string_view source);

}  // namespace weft::models::jinja
