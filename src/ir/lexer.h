// Tokens of the graph's text form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::ir {

enum class TokenKind : uint8_t {
  Name,     // kmeans, f64, s0, true
  Value,    // %x; the text is without '%'
  Number,   // 12, 1.5e-3: no sign
  String,   // the text is unescaped
  Symbol,   // one character, or one of == != >= //
  Comment,  // the text is without '#' and surrounding blanks
  End,
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;
  int line = 1, column = 1;
  bool glued = false;  // nothing stands between it and the token before

  bool is(std::string_view symbol) const { return kind == TokenKind::Symbol && text == symbol; }
  bool is_name(std::string_view name) const { return kind == TokenKind::Name && text == name; }
  // As an error message shows it.
  std::string describe() const;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token next();

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  char advance();
  void read_number(Token& token);
  void read_string(Token& token);

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

[[noreturn]] void syntax_error(const Token& token, const std::string& expected);

}  // namespace weft::ir
