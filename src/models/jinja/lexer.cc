// source: jinja2 3.1, lexer.py.
#include "models/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "models/characters.h"
#include "models/jinja/texts.h"
#include "models/jinja/value.h"

namespace weft::models::jinja {

void fail_syntax(int line, const std::string& message) {
  fail("TemplateSyntaxError", fmt::format("{} (line {})", message, line));
}

namespace {

constexpr const char* kOperators[] = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

// One kind of line end, and none at the text's end.
std::string with_plain_lines(std::string_view source) {
  std::string result;
  result.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      result += source[i];
      continue;
    }
    result += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (result.ends_with('\n')) result.pop_back();
  return result;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class TemplateLexer {
 public:
  explicit TemplateLexer(std::string_view source) : source_(with_plain_lines(source)), rest_(source_) {}

  std::vector<Token> run() {
    while (!rest_.empty()) read_root();
    add(TokenKind::End, "");
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text)}); }
  void advance(size_t count) {
    if (count == 0) return;
    line_ += static_cast<int>(std::count(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(count), '\n'));
    is_line_start_ = rest_[count - 1] == '\n';
    rest_.remove_prefix(count);
  }
  static size_t space_before(std::string_view text, size_t from) {
    return text.size() - from - stripped(text.substr(from), true, false).size();
  }

  // {%- raw -%}: its length; 0 where there is none. `name`: raw or endraw.
  static size_t raw_tag(std::string_view text, std::string_view name, bool is_end) {
    if (!text.starts_with("{%")) return 0;
    size_t at = 2;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    at += space_before(text, std::min(at, text.size()));
    if (!text.substr(at).starts_with(name)) return 0;
    at += name.size();
    at += space_before(text, at);
    const std::string_view end = text.substr(at);
    if (end.starts_with("-%}")) return at + 3 + space_before(text, at + 3);
    if (is_end && end.starts_with("+%}")) return at + 3;
    if (!end.starts_with("%}")) return 0;
    return at + 2 + (is_end && end.size() > 2 && end[2] == '\n' ? 1 : 0);
  }

  // The text before a tag, as the tag's sign says. `strips`: tags at the start of a line take its space.
  std::string data_before(std::string_view data, char sign, bool strips) const {
    if (sign == '-') return std::string(stripped(data, false, true));
    if (sign == '+' || !strips) return std::string(data);
    const size_t newline = data.rfind('\n');
    const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    if ((start > 0 || is_line_start_) && stripped(data.substr(start), true, false).empty())
      return std::string(data.substr(0, start));
    return std::string(data);
  }

  void read_root() {
    size_t at = 0;
    while (at < rest_.size() && !(rest_[at] == '{' && at + 1 < rest_.size() &&
                                  (rest_[at + 1] == '{' || rest_[at + 1] == '%' || rest_[at + 1] == '#')))
      ++at;
    if (at == rest_.size()) {
      add(TokenKind::Data, std::string(rest_));
      return advance(rest_.size());
    }
    const char what = rest_[at + 1];
    const char sign =
        at + 2 < rest_.size() && (rest_[at + 2] == '-' || rest_[at + 2] == '+') ? rest_[at + 2] : 0;
    std::string data = data_before(rest_.substr(0, at), sign, what != '{');
    if (!data.empty()) add(TokenKind::Data, std::move(data));
    advance(at);
    if (const size_t raw = raw_tag(rest_, "raw", false)) {
      advance(raw);
      return read_raw();
    }
    advance(sign != 0 ? 3 : 2);
    if (what == '#') return read_comment();
    add(what == '{' ? TokenKind::VariableBegin : TokenKind::BlockBegin, "");
    read_tag(what == '{');
  }

  void read_raw() {
    for (size_t at = 0; at < rest_.size(); ++at) {
      if (rest_[at] != '{') continue;
      const size_t end = raw_tag(rest_.substr(at), "endraw", true);
      if (end == 0) continue;
      const char sign = rest_[at + 2];
      std::string data = data_before(rest_.substr(0, at), sign == '-' || sign == '+' ? sign : '\0', true);
      if (!data.empty()) add(TokenKind::Data, std::move(data));
      return advance(at + end);
    }
    fail_syntax(line_, "Missing end of raw directive");
  }

  void read_comment() {
    const size_t end = rest_.find("#}");
    if (end == std::string_view::npos) fail_syntax(line_, "Missing end of comment tag");
    const bool strips = end > 0 && rest_[end - 1] == '-';
    const bool keeps = end > 0 && rest_[end - 1] == '+';
    size_t after = end + 2;
    if (strips)
      after += space_before(rest_, after);
    else if (!keeps && after < rest_.size() && rest_[after] == '\n')
      ++after;
    advance(after);
  }

  // The end of a tag here: its length, or 0.
  size_t tag_end(bool is_variable) const {
    const std::string_view end = is_variable ? "}}" : "%}";
    if (rest_.starts_with('-') && rest_.substr(1).starts_with(end)) return 3 + space_before(rest_, 3);
    if (!is_variable && rest_.starts_with('+') && rest_.substr(1).starts_with(end)) return 3;
    if (!rest_.starts_with(end)) return 0;
    return !is_variable && rest_.size() > 2 && rest_[2] == '\n' ? 3 : 2;
  }

  void read_tag(bool is_variable) {
    std::string open;  // brackets that are not closed
    while (true) {
      if (open.empty())
        if (const size_t end = tag_end(is_variable)) {
          add(is_variable ? TokenKind::VariableEnd : TokenKind::BlockEnd, "");
          return advance(end);
        }
      if (rest_.empty()) return;
      if (const size_t space = space_before(rest_, 0)) {
        advance(space);
        continue;
      }
      read_token(open);
    }
  }

  void read_token(std::string& open) {
    const char c = rest_[0];
    const TextCharacter first = first_character(rest_);
    if (is_digit(c)) return read_number();
    if (is_word_character(first.code)) return read_name();
    if (c == '\'' || c == '"') return read_string();
    for (const char* symbol : kOperators) {
      if (!rest_.starts_with(symbol)) continue;
      follow_brackets(symbol[0], open);
      add(TokenKind::Operator, symbol);
      return advance(std::string_view(symbol).size());
    }
    fail_syntax(line_, fmt::format("unexpected char {} at {}", repr_of_text(rest_.substr(0, first.length)),
                                   rest_.data() - source_.data()));
  }

  void follow_brackets(char symbol, std::string& open) const {
    if (symbol == '{') open += '}';
    if (symbol == '(') open += ')';
    if (symbol == '[') open += ']';
    if (symbol != '}' && symbol != ')' && symbol != ']') return;
    if (open.empty()) fail_syntax(line_, fmt::format("unexpected '{}'", symbol));
    if (open.back() != symbol)
      fail_syntax(line_, fmt::format("unexpected '{}', expected '{}'", symbol, open.back()));
    open.pop_back();
  }

  void read_name() {
    size_t length = 0;
    for (TextCharacter c = first_character(rest_); is_word_character(c.code);
         c = first_character(rest_.substr(length)))
      length += c.length;
    add(TokenKind::Name, std::string(rest_.substr(0, length)));
    advance(length);
  }

  // Digits with single "_" between them.
  size_t digits(size_t at) const {
    size_t end = at;
    while (end < rest_.size() && is_digit(rest_[end])) {
      ++end;
      if (end + 1 < rest_.size() && rest_[end] == '_' && is_digit(rest_[end + 1])) ++end;
    }
    return end - at;
  }

  void read_number() {
    const auto take = [&](TokenKind kind, size_t length) {
      std::string text(rest_.substr(0, length));
      std::erase(text, '_');
      add(kind, std::move(text));
      advance(length);
    };
    const char base = rest_.size() > 1 ? static_cast<char>(std::tolower(rest_[1])) : ' ';
    if (rest_[0] == '0' && (base == 'x' || base == 'o' || base == 'b')) {
      const auto fits = [&](char c) {
        return base == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0
                           : c >= '0' && c <= (base == 'o' ? '7' : '1');
      };
      size_t end = 2;
      while (end < rest_.size() &&
             (fits(rest_[end]) || (rest_[end] == '_' && end + 1 < rest_.size() && fits(rest_[end + 1]))))
        ++end;
      if (end > 2) return take(TokenKind::Integer, end);
    }
    const size_t whole = digits(0);
    size_t end = whole;
    // After a "." stands the number of an element.
    const bool is_element = !tokens_.empty() && tokens_.back().text == "." && &rest_[0] > source_.data() &&
                            rest_.data()[-1] == '.';
    if (!is_element) {
      if (end + 1 < rest_.size() && rest_[end] == '.' && is_digit(rest_[end + 1])) end += 1 + digits(end + 1);
      if (end < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
        const size_t sign =
            end + 1 < rest_.size() && (rest_[end + 1] == '+' || rest_[end + 1] == '-') ? 1 : 0;
        if (const size_t exponent = digits(end + 1 + sign)) end += 1 + sign + exponent;
      }
      if (end > whole) return take(TokenKind::Float, end);
    }
    if (rest_[0] == '0') {  // zeros alone are a number
      end = 1;
      while (end < whole && rest_[end] == '0') ++end;
    }
    take(TokenKind::Integer, end);
  }

  void read_string() {
    const char quote = rest_[0];
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size())
      fail_syntax(line_, fmt::format("unexpected char {} at {}", repr_of_text(rest_.substr(0, 1)),
                                     rest_.data() - source_.data()));
    add(TokenKind::String, unescaped(rest_.substr(1, end - 1)));
    advance(end + 1);
  }

  // Python's escapes.
  std::string unescaped(std::string_view text) const {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        result += text[i];
        continue;
      }
      const char c = text[++i];
      static constexpr std::string_view kLetters = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
      if (const size_t letter = kLetters.find(c); letter != std::string_view::npos) {
        result += kMeanings[letter];
      } else if (c == 'x' || c == 'u' || c == 'U') {
        const size_t count = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        append_code(result, text.substr(i + 1, count), count, 16);
        i += count;
      } else if (c >= '0' && c <= '7') {
        size_t count = 1;
        while (count < 3 && i + count < text.size() && text[i + count] >= '0' && text[i + count] <= '7')
          ++count;
        append_code(result, text.substr(i, count), count, 8);
        i += count - 1;
      } else if (c == 'N') {
        fail_syntax(line_, "characters by name (\\N{...}) are not supported");
      } else if (c != '\n') {
        result += '\\';
        result += c;
      }
    }
    return result;
  }

  void append_code(std::string& result, std::string_view digits, size_t count, int base) const {
    int64_t code = 0;
    bool is_number = digits.size() == count;
    for (const char c : digits) {
      is_number = is_number && std::isxdigit(static_cast<unsigned char>(c)) != 0;
      code = code * base + (is_digit(c) ? c - '0' : std::tolower(c) - 'a' + 10);
    }
    if (!is_number || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      fail_syntax(line_, "a string has an escape that is no character");
    append_character(result, static_cast<int32_t>(code));
  }

  std::string source_;
  std::string_view rest_;
  std::vector<Token> tokens_;
  int line_ = 1;
  bool is_line_start_ = true;  // what was read last ended with a line
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return TemplateLexer(source).run(); }

}  // namespace weft::models::jinja
