// A place among the tokens of a source: what stands there, and what must.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "script/syntax/lexer.h"

namespace weft::jit {

class TokenCursor {
 protected:
  TokenCursor(SourcePtr source, std::vector<Token> tokens)
      : source_(std::move(source)), tokens_(std::move(tokens)) {}

  const Token& token() const { return tokens_[at_]; }
  std::string_view text(const Token& t) const {
    return std::string_view(source_->text).substr(t.begin, t.end - t.begin);
  }
  std::string_view text() const { return text(token()); }
  bool at_end() const { return token().kind == TokenKind::End; }
  // Asked of every token many times over: most are told apart by their first character.
  bool is(std::string_view op) const {
    const Token& t = token();
    return t.kind == TokenKind::Operator && source_->text[t.begin] == op[0] && t.end - t.begin == op.size() &&
           text(t) == op;
  }
  bool is_name(std::string_view name) const { return token().kind == TokenKind::Name && text() == name; }
  bool next_is(std::string_view op) const {
    return at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == TokenKind::Operator &&
           text(tokens_[at_ + 1]) == op;
  }
  void advance() {
    last_ = at_;
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool accept(std::string_view op) {
    if (!is(op)) return false;
    advance();
    return true;
  }
  bool accept_name(std::string_view name) {
    if (!is_name(name)) return false;
    advance();
    return true;
  }
  bool accept(TokenKind kind) {
    if (token().kind != kind) return false;
    advance();
    return true;
  }
  void expect(std::string_view op) {
    if (!accept(op)) fail(fmt::format("expected '{}', got {}", op, shown()));
  }
  void expect_name(std::string_view name) {
    if (!accept_name(name)) fail(fmt::format("expected '{}', got {}", name, shown()));
  }
  void expect_end() {
    while (accept(TokenKind::Newline)) {
    }
    if (!at_end()) fail(fmt::format("expected the end, got {}", shown()));
  }
  std::string shown() const {
    switch (token().kind) {
      case TokenKind::Newline: return "the end of the line";
      case TokenKind::Indent: return "an indented line";
      case TokenKind::Dedent:
      case TokenKind::End: return "the end of the block";
      default: return fmt::format("'{}'", text().substr(0, 40));
    }
  }
  std::string identifier() {
    if (token().kind != TokenKind::Name || is_keyword(text()))
      fail(fmt::format("expected a name, got {}", shown()));
    std::string name(text());
    advance();
    return name;
  }
  [[noreturn]] void fail(const std::string& message) const { syntax_error(range(token()), message); }
  [[noreturn]] void absent(std::string_view what) const {
    fail(fmt::format("{} not part of TorchScript", what));
  }

  Range range(const Token& t) const {
    return {source_, t.begin, std::max(t.end, t.begin + (t.begin < source_->text.size() ? 1 : 0))};
  }
  Range since(size_t begin) const { return {source_, begin, tokens_[last_].end}; }

  bool ends_statement() const {
    return token().kind == TokenKind::Newline || token().kind == TokenKind::End ||
           token().kind == TokenKind::Dedent || is(";");
  }

  SourcePtr source_;
  std::vector<Token> tokens_;
  size_t at_ = 0, last_ = 0;  // the next token; the one before it
};

}  // namespace weft::jit
