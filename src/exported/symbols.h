// Sizes as expressions of symbols, read from sympy's text: "Mul(Integer(2), Symbol('s0', integer=True))".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exported/size_arithmetic.h"

namespace weft::exported {

using SymbolValues = std::map<std::string, int64_t>;

class SizeExpr {
 public:
  static SizeExpr parse(const std::string& text);

  // A number; or one symbol alone, by its name.
  std::optional<int64_t> constant() const;
  std::optional<std::string> symbol() const;
  // nullopt where a symbol has no value, or where integers do not hold the result.
  std::optional<int64_t> evaluate(const SymbolValues& values) const;
  // Where the expression is a * s + b of one symbol that has no value: the s that gives `result`.
  std::optional<std::pair<std::string, int64_t>> solve(const SymbolValues& values, int64_t result) const;
  std::string str() const;  // "2*s0 + 1"

 private:
  enum class Kind : uint8_t { Number, Symbol, Operation };
  class Parser;
  std::optional<int64_t> linear(const SymbolValues& values, const std::string& symbol, int64_t& factor) const;

  bool is(SizeOperation operation) const { return kind_ == Kind::Operation && operation_ == operation; }

  Kind kind_ = Kind::Number;
  SizeOperation operation_ = SizeOperation::Add;
  int64_t number_ = 0;
  std::string name_;
  std::vector<SizeExpr> operands_;
};

}  // namespace weft::exported
