#include "exported/symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <charconv>

#include "exported/json_access.h"

namespace weft::exported {
namespace {

constexpr int kMaxDepth = 64;

}  // namespace

class SizeExpr::Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  SizeExpr parse() {
    SizeExpr result = expression(0);
    if (at_ != text_.size()) refuse();
    return result;
  }

 private:
  [[noreturn]] void refuse() const {
    fail(fmt::format("a size is the expression '{}', of which weft does not know a part", printable(text_)));
  }
  bool take(char c) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse();
  }
  std::string word() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    return text_.substr(start, at_ - start);
  }
  int64_t number() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) refuse();
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  SizeExpr expression(int depth) {
    if (depth > kMaxDepth) refuse();
    const std::string name = word();
    SizeExpr result;
    expect('(');
    if (name == "Integer") {
      result.number_ = number();
      expect(')');
      return result;
    }
    if (name == "Symbol") {
      result.kind_ = Kind::Symbol;
      expect('\'');
      result.name_ = word();
      expect('\'');
      while (take(',')) {  // what is assumed of it: integer=True, positive=True
        word();
        expect('=');
        word();
      }
      expect(')');
      return result;
    }
    static const auto& operations =
        *new std::map<std::string, SizeOperation>{{"Add", SizeOperation::Add},
                                                  {"Mul", SizeOperation::Multiply},
                                                  {"Pow", SizeOperation::Power},
                                                  {"PowByNatural", SizeOperation::Power},
                                                  {"FloorDiv", SizeOperation::FloorDivide},
                                                  {"CleanDiv", SizeOperation::FloorDivide},
                                                  {"IntTrueDiv", SizeOperation::FloorDivide},
                                                  {"Mod", SizeOperation::Remainder},
                                                  {"PythonMod", SizeOperation::Remainder},
                                                  {"Max", SizeOperation::Max},
                                                  {"Min", SizeOperation::Min}};
    const auto operation = operations.find(name);
    if (operation == operations.end()) refuse();
    result.kind_ = Kind::Operation;
    result.operation_ = operation->second;
    do result.operands_.push_back(expression(depth + 1));
    while (take(','));
    expect(')');
    const bool is_binary = result.is(SizeOperation::Power) || result.is(SizeOperation::FloorDivide) ||
                           result.is(SizeOperation::Remainder);
    if (is_binary && result.operands_.size() != 2) refuse();
    return result;
  }

  const std::string& text_;
  size_t at_ = 0;
};

SizeExpr SizeExpr::parse(const std::string& text) { return Parser(text).parse(); }

std::optional<int64_t> SizeExpr::constant() const {
  return kind_ == Kind::Number ? std::optional(number_) : std::nullopt;
}
std::optional<std::string> SizeExpr::symbol() const {
  return kind_ == Kind::Symbol ? std::optional(name_) : std::nullopt;
}

std::optional<int64_t> SizeExpr::evaluate(const SymbolValues& values) const {
  if (kind_ == Kind::Number) return number_;
  if (kind_ == Kind::Symbol) {
    const auto found = values.find(name_);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<int64_t> result = operands_[0].evaluate(values);
  for (size_t i = 1; i < operands_.size() && result; ++i) {
    const std::optional<int64_t> other = operands_[i].evaluate(values);
    if (!other) return std::nullopt;
    result = computed(operation_, *result, *other);
  }
  return result;
}

// The value at symbol = 0, and what one more of it adds; nullopt unless the expression is linear in it.
std::optional<int64_t> SizeExpr::linear(const SymbolValues& values, const std::string& symbol,
                                        int64_t& factor) const {
  factor = 0;
  if (kind_ == Kind::Symbol && name_ == symbol) {
    factor = 1;
    return 0;
  }
  if (kind_ == Kind::Number || kind_ == Kind::Symbol) return evaluate(values);
  if (!is(SizeOperation::Add) && !is(SizeOperation::Multiply)) return evaluate(values);
  int64_t result = is(SizeOperation::Add) ? 0 : 1;
  for (const SizeExpr& operand : operands_) {
    int64_t other_factor = 0;
    const auto other = operand.linear(values, symbol, other_factor);
    if (!other) return std::nullopt;
    if (is(SizeOperation::Add)) {
      if (__builtin_add_overflow(result, *other, &result) ||
          __builtin_add_overflow(factor, other_factor, &factor))
        return std::nullopt;
      continue;
    }
    if (factor != 0 && other_factor != 0) return std::nullopt;
    int64_t left = 0, right = 0;
    if (__builtin_mul_overflow(factor, *other, &left) || __builtin_mul_overflow(other_factor, result, &right) ||
        __builtin_add_overflow(left, right, &factor) || __builtin_mul_overflow(result, *other, &result))
      return std::nullopt;
  }
  return result;
}

std::optional<std::pair<std::string, int64_t>> SizeExpr::solve(const SymbolValues& values, int64_t result) const {
  if (kind_ == Kind::Symbol)
    return values.contains(name_) ? std::nullopt : std::optional(std::pair(name_, result));
  for (const SizeExpr& operand : operands_) {
    const SizeExpr* at = &operand;
    while (at->kind_ != Kind::Symbol && !at->operands_.empty()) at = &at->operands_.back();
    if (at->kind_ != Kind::Symbol || values.contains(at->name_)) continue;
    int64_t factor = 0;
    const auto start = linear(values, at->name_, factor);
    if (!start || factor == 0 || (result - *start) % factor != 0) return std::nullopt;
    return std::pair(at->name_, (result - *start) / factor);
  }
  return std::nullopt;
}

std::string SizeExpr::str() const {
  if (kind_ == Kind::Number) return std::to_string(number_);
  if (kind_ == Kind::Symbol) return name_;
  std::vector<std::string> parts;
  for (const SizeExpr& operand : operands_) {
    const bool is_sum = operand.is(SizeOperation::Add) && !is(SizeOperation::Add);
    parts.push_back(is_sum ? fmt::format("({})", operand.str()) : operand.str());
  }
  switch (operation_) {
    case SizeOperation::Add: return fmt::format("{}", fmt::join(parts, " + "));
    case SizeOperation::Multiply: return fmt::format("{}", fmt::join(parts, "*"));
    case SizeOperation::Power: return fmt::format("{}**{}", parts[0], parts[1]);
    case SizeOperation::FloorDivide: return fmt::format("({}//{})", parts[0], parts[1]);
    case SizeOperation::Remainder: return fmt::format("({} % {})", parts[0], parts[1]);
    case SizeOperation::Max: return fmt::format("max({})", fmt::join(parts, ", "));
    default: return fmt::format("min({})", fmt::join(parts, ", "));
  }
}

}  // namespace weft::exported
