#include "ir/lexer.h"

#include <fmt/format.h>

#include "weft/error.h"

namespace weft::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

std::string Token::describe() const {
  switch (kind) {
    case TokenKind::End: return "the end of the text";
    case TokenKind::Value: return fmt::format("'%{}'", text);
    case TokenKind::String: return fmt::format("\"{}\"", text);
    case TokenKind::Comment: return fmt::format("'# {}'", text);
    default: return fmt::format("'{}'", text);
  }
}

void syntax_error(const Token& token, const std::string& expected) {
  throw_error(ErrorKind::Value, fmt::format("graph text:{}:{}: expected {}, got {}", token.line, token.column,
                                            expected, token.describe()));
}

char Lexer::advance() {
  const char c = text_[at_++];
  if (c == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
  return c;
}

void Lexer::read_number(Token& token) {
  while (is_digit(peek())) token.text += advance();
  if (peek() == '.') {
    token.text += advance();
    while (is_digit(peek())) token.text += advance();
  }
  if (peek() == 'e') {
    token.text += advance();
    if (peek() == '-' || peek() == '+') token.text += advance();
    while (is_digit(peek())) token.text += advance();
  }
}

void Lexer::read_string(Token& token) {
  advance();
  while (peek() != '"') {
    if (at_ >= text_.size()) {
      token.kind = TokenKind::End;
      syntax_error(token, "the closing '\"' of a string");
    }
    char c = advance();
    if (c == '\\' && at_ < text_.size()) {
      c = advance();
      if (c == 'n') c = '\n';
    }
    token.text += c;
  }
  advance();
}

Token Lexer::next() {
  const size_t before = at_;
  while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') advance();
  Token token;
  token.line = line_;
  token.column = column_;
  token.glued = at_ == before;
  if (at_ >= text_.size()) return token;
  const char c = peek();
  if (c == '#') {
    token.kind = TokenKind::Comment;
    advance();
    while (at_ < text_.size() && peek() != '\n') token.text += advance();
    const size_t first = token.text.find_first_not_of(' ');
    token.text = first == std::string::npos
                     ? ""
                     : token.text.substr(first, token.text.find_last_not_of(' ') - first + 1);
  } else if (c == '%' && is_word(peek(1))) {
    token.kind = TokenKind::Value;
    advance();
    while (is_word(peek())) token.text += advance();
  } else if (is_digit(c)) {
    token.kind = TokenKind::Number;
    read_number(token);
  } else if (is_word(c)) {
    token.kind = TokenKind::Name;
    while (is_word(peek()) || (peek() == '.' && is_word(peek(1)))) token.text += advance();
  } else if (c == '"') {
    token.kind = TokenKind::String;
    read_string(token);
  } else {
    token.kind = TokenKind::Symbol;
    token.text += advance();
    const bool pair = (peek() == '=' && (c == '=' || c == '!' || c == '>')) || (c == '/' && peek() == '/');
    if (pair) token.text += advance();
  }
  return token;
}

}  // namespace weft::ir
