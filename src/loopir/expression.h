// Expressions of native loops: C++, and the names in it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace weft::loopir {

class Expr {
 public:
  Expr() = default;
  Expr(std::string text) : text_(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  Expr(const char* text) : text_(text) {}             // NOLINT(google-explicit-constructor)

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  bool operator==(const Expr&) const = default;

  // Names and numbers, in order.
  std::vector<std::string> words() const;
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
  std::string text_;
};

}  // namespace weft::loopir
