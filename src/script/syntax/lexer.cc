#include "script/syntax/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "core/printable.h"

namespace weft::jit {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Longest first.
constexpr std::array<std::string_view, 48> kOperators = {
    "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==", "!=", "->", "+=", "-=",
    "*=",  "/=",  "%=",  "@=",  "&=",  "|=", "^=", ":=", "+",  "-",  "*",  "/",  "%",  "@",  "&",  "|",
    "^",   "~",   "<",   ">",   "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",  ".",  ";",  "=",  "!"};

class Lexer {
 public:
  Lexer(const SourcePtr& source, size_t begin, size_t end, bool is_expression)
      : source_(source),
        text_(std::string_view(source->text).substr(0, end)),
        at_(begin),
        depth_(is_expression ? 1 : 0),
        is_expression_(is_expression) {}

  std::vector<Token> run() {
    if (!is_expression_) start_line();
    while (true) {
      skip_blank();
      if (at_ >= text_.size()) break;
      const char c = text_[at_];
      if (c == '\n' || c == '\r') {
        newline();
      } else if (is_name_start(c) || c == '"' || c == '\'') {
        name_or_string();
      } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
        number();
      } else {
        operator_token();
      }
    }
    finish();
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(size_t begin, size_t end, const std::string& message) const {
    syntax_error(Range{source_, begin, std::max(end, begin + 1)}, message);
  }

  void add(TokenKind kind, size_t begin) { tokens_.push_back({kind, begin, at_, 0, 0}); }

  void skip_blank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        comment();
      } else if (c == ' ' || c == '\t' || c == '\f') {
        ++at_;
      } else if ((c == '\n' || c == '\r') && depth_ > 0) {
        ++at_;
      } else if (c == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '\n' || text_[at_ + 1] == '\r')) {
        at_ += text_.substr(at_ + 1, 2) == "\r\n" ? 3 : 2;
      } else {
        return;
      }
    }
  }

  void comment() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    const std::string_view line = text_.substr(begin, at_ - begin);
    const size_t colon = line.find("type:");
    if (colon == std::string_view::npos || line.find_first_not_of("# \t") != colon || tokens_.empty()) return;
    const size_t start = line.find_first_not_of(" \t", colon + 5);
    if (start == std::string_view::npos || line.substr(start).starts_with("ignore")) return;
    Token& last = tokens_.back();
    if (last.comment_end == 0) last.comment_begin = begin + start, last.comment_end = at_;
  }

  void newline() {
    const size_t begin = at_;
    ++at_;
    add(TokenKind::Newline, begin);
    start_line();
  }

  // Skips blank lines, then compares the indentation.
  void start_line() {
    while (true) {
      size_t column = 0;
      const size_t line = at_;
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\f')) {
        column = text_[at_] == '\t' ? (column / 8 + 1) * 8 : text_[at_] == '\f' ? 0 : column + 1;
        ++at_;
      }
      if (at_ < text_.size() && text_[at_] == '#') comment();
      if (at_ >= text_.size()) return;
      if (text_[at_] == '\n' || text_[at_] == '\r') {
        ++at_;
        continue;
      }
      indent(column, line);
      return;
    }
  }

  void indent(size_t column, size_t line) {
    if (indents_.empty()) {
      indents_.push_back(column);
      return;
    }
    if (column > indents_.back()) {
      if (indents_.size() > 100) fail(line, at_, "too many levels of indentation");
      indents_.push_back(column);
      add(TokenKind::Indent, line);
    }
    while (column < indents_.back()) {
      if (indents_.size() == 1) fail(line, at_, "this line is less indented than the first one");
      indents_.pop_back();
      add(TokenKind::Dedent, at_);
    }
    if (column != indents_.back()) fail(line, at_, "unindent does not match any outer indentation level");
  }

  void finish() {
    if (depth_ > (is_expression_ ? 1 : 0))
      fail(opened_.back(), opened_.back() + 1, "this bracket is never closed");
    at_ = text_.size();
    if (!is_expression_) {
      if (!tokens_.empty() && tokens_.back().kind != TokenKind::Newline &&
          tokens_.back().kind != TokenKind::Dedent) {
        add(TokenKind::Newline, at_);
      }
      for (; indents_.size() > 1; indents_.pop_back()) add(TokenKind::Dedent, at_);
    }
    add(TokenKind::End, at_);
  }

  void name_or_string() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    const bool quote = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
    if (!quote) {
      add(TokenKind::Name, begin);
      return;
    }
    const std::string_view prefix = text_.substr(begin, at_ - begin);
    const bool known = prefix.size() <= 2 && prefix.find_first_not_of("rRfFuU") == std::string_view::npos;
    if (!known) {
      if (prefix.find_first_not_of("rRbB") == std::string_view::npos)
        fail(begin, at_ + 1, "bytes are not part of TorchScript");
      fail(begin, at_ + 1, fmt::format("unknown prefix '{}' of a string", prefix));
    }
    string(begin);
  }

  void string(size_t begin) {
    const char quote = text_[at_];
    const bool triple = text_.size() - at_ >= 3 && text_[at_ + 1] == quote && text_[at_ + 2] == quote;
    at_ += triple ? 3 : 1;
    while (true) {
      if (at_ >= text_.size() || (!triple && text_[at_] == '\n'))
        fail(begin, begin + 1, "this string is never closed");
      if (text_[at_] == '\\') {
        at_ = std::min(at_ + 2, text_.size());
      } else if (text_[at_] == quote && (!triple || (text_.substr(at_, 3).size() == 3 &&
                                                     text_[at_ + 1] == quote && text_[at_ + 2] == quote))) {
        break;
      } else {
        ++at_;
      }
    }
    at_ += triple ? 3 : 1;
    add(TokenKind::String, begin);
  }

  template <class F>
  void digits(F is_wanted) {
    while (at_ < text_.size() && (is_wanted(text_[at_]) || text_[at_] == '_')) ++at_;
  }

  void number() {
    const size_t begin = at_;
    const char second = at_ + 1 < text_.size() ? static_cast<char>(text_[at_ + 1] | 0x20) : '\0';
    if (text_[at_] == '0' && (second == 'x' || second == 'o' || second == 'b')) {
      at_ += 2;
      digits(is_hex);
    } else {
      digits(is_digit);
      if (at_ < text_.size() && text_[at_] == '.') {
        ++at_;
        digits(is_digit);
      }
      if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
        size_t exponent = at_ + 1;
        if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
        if (exponent < text_.size() && is_digit(text_[exponent])) {
          at_ = exponent;
          digits(is_digit);
        }
      }
      if (at_ < text_.size() && (text_[at_] == 'j' || text_[at_] == 'J')) ++at_;
    }
    if (at_ < text_.size() && is_name_part(text_[at_])) fail(begin, at_ + 1, "invalid number");
    add(TokenKind::Number, begin);
  }

  void operator_token() {
    const size_t begin = at_;
    for (const std::string_view candidate : kOperators) {
      if (candidate[0] != text_[at_] || !text_.substr(at_).starts_with(candidate)) continue;
      at_ += candidate.size();
      const char c = candidate[0];
      if (candidate.size() == 1 && (c == '(' || c == '[' || c == '{')) {
        ++depth_;
        opened_.push_back(begin);
      } else if (candidate.size() == 1 && (c == ')' || c == ']' || c == '}')) {
        close(begin, c);
      }
      add(TokenKind::Operator, begin);
      return;
    }
    size_t end = begin + 1;  // of the whole character
    while (end < text_.size() && (static_cast<uint8_t>(text_[end]) & 0xC0u) == 0x80) ++end;
    fail(begin, end, fmt::format("unexpected character '{}'", printable(text_.substr(begin, end - begin))));
  }

  void close(size_t begin, char c) {
    const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (opened_.empty()) fail(begin, begin + 1, fmt::format("unmatched '{}'", c));
    if (text_[opened_.back()] != wanted)
      fail(begin, begin + 1, fmt::format("'{}' closes '{}'", c, text_[opened_.back()]));
    opened_.pop_back();
    --depth_;
  }

  SourcePtr source_;
  std::string_view text_;
  size_t at_;
  int depth_;
  bool is_expression_;
  std::vector<size_t> indents_, opened_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const SourcePtr& source, size_t begin, size_t end, bool is_expression) {
  return Lexer(source, begin, end, is_expression).run();
}

bool is_keyword(std::string_view name) {
  static constexpr std::string_view kKeywords[] = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::find(std::begin(kKeywords), std::end(kKeywords), name) != std::end(kKeywords);
}

bool is_identifier(std::string_view name) {
  if (name.empty() || is_keyword(name) || is_digit(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

}  // namespace weft::jit
