// Values in native loops: names of variables and temporaries, constants, operations on values (operations.h).
// What statements on arrays make is C++ yet, in which names are looked for.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::loopir {

struct Operation;

class Expr {
 public:
  Expr() = default;
  // C++ of any other kind.
  Expr(std::string text) : text_(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  Expr(const char* text) : text_(text) {}             // NOLINT(google-explicit-constructor)
  static Expr name(std::string name);
  static Expr constant(std::string literal);
  static Expr function(std::string name);
  // `type` is the result's.
  static Expr apply(const Operation& operation, std::vector<Expr> operands, const std::string& type = "");

  const std::string& text() const { return text_; }
  operator const std::string&() const { return text_; }  // NOLINT(google-explicit-constructor)
  bool empty() const { return text_.empty(); }
  bool operator==(const Expr& other) const { return text_ == other.text_; }
  bool operator<(const Expr& other) const { return text_ < other.text_; }

  // Is it known what it is made of?
  bool is_typed() const { return node_ != nullptr; }
  bool is_name() const;
  bool is_constant() const;
  bool is_function() const;
  // Null: it is no operation.
  const Operation* operation() const;
  const std::vector<Expr>& operands() const;
  const std::string& type() const;  // what an operation was made with

  // How many names, numbers and types are in it.
  size_t num_words() const;
  // How often the name is in it.
  int uses(const std::string& name) const;
  bool uses_any(const std::set<std::string>& names) const;
  // Is one of the names, which are functions, called? One that is handed on is not.
  bool calls_any(const std::set<std::string>& names) const;
  // One name or number.
  bool is_word() const;
  bool begins_with_number() const;
  Expr renamed(const std::set<std::string>& names, const std::string& suffix) const;
  // With expressions, in brackets, in the place of names.
  Expr with(const std::map<std::string, Expr>& values) const;

 private:
  struct Node;
  Expr(std::string text, Node node);
  // With `by(name)` in the place of names.
  Expr mapped(const std::function<Expr(const std::string&)>& by) const;

  std::string text_;
  std::shared_ptr<const Node> node_;
};

// Of a word of C++: a letter, a digit, "_".
bool is_word_part(char c);
bool is_digit(char c);
std::string integer_literal(int64_t value);
Expr integer(int64_t value);

inline std::string operator+(const std::string& a, const Expr& b) { return a + b.text(); }
inline std::string operator+(const Expr& a, const std::string& b) { return a.text() + b; }
inline std::string operator+(const char* a, const Expr& b) { return a + b.text(); }
inline std::string operator+(const Expr& a, const char* b) { return a.text() + b; }
inline std::string operator+(const Expr& a, const Expr& b) { return a.text() + b.text(); }

}  // namespace weft::loopir

template <>
struct fmt::formatter<weft::loopir::Expr> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const weft::loopir::Expr& expr, Context& context) const {
    return fmt::formatter<std::string_view>::format(expr.text(), context);
  }
};
