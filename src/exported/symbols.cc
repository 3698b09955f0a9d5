#include "exported/symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <charconv>
#include <limits>

#include "exported/json_access.h"

namespace weft::exported {
namespace {

constexpr int kMaxDepth = 64;

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

std::optional<int64_t> power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
    if (result == 0 || (base == 1)) return result;
    if (base == -1) return exponent % 2 ? -1 : 1;
  }
  return result;
}

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
    static const auto& kinds = *new std::map<std::string, Kind>{
        {"Add", Kind::Add}, {"Mul", Kind::Mul}, {"Pow", Kind::Pow}, {"FloorDiv", Kind::FloorDiv},
        {"CleanDiv", Kind::FloorDiv}, {"IntTrueDiv", Kind::FloorDiv}, {"PowByNatural", Kind::Pow},
        {"Mod", Kind::Mod}, {"PythonMod", Kind::Mod}, {"Max", Kind::Max}, {"Min", Kind::Min}};
    const auto kind = kinds.find(name);
    if (kind == kinds.end()) refuse();
    result.kind_ = kind->second;
    do result.operands_.push_back(expression(depth + 1));
    while (take(','));
    expect(')');
    const bool is_binary = result.kind_ == Kind::Pow || result.kind_ == Kind::FloorDiv || result.kind_ == Kind::Mod;
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
    int64_t next = 0;
    switch (kind_) {
      case Kind::Add:
        if (__builtin_add_overflow(*result, *other, &next)) return std::nullopt;
        break;
      case Kind::Mul:
        if (__builtin_mul_overflow(*result, *other, &next)) return std::nullopt;
        break;
      case Kind::Max: next = std::max(*result, *other); break;
      case Kind::Min: next = std::min(*result, *other); break;
      case Kind::Pow: {
        const auto raised = power(*result, *other);
        if (!raised) return std::nullopt;
        next = *raised;
        break;
      }
      default:
        if (*other == 0 || (*other == -1 && *result == std::numeric_limits<int64_t>::min())) return std::nullopt;
        next = kind_ == Kind::FloorDiv ? floor_div(*result, *other)
                                       : *result - floor_div(*result, *other) * *other;
    }
    result = next;
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
  if (kind_ != Kind::Add && kind_ != Kind::Mul) return evaluate(values);
  int64_t result = kind_ == Kind::Add ? 0 : 1;
  for (const SizeExpr& operand : operands_) {
    int64_t other_factor = 0;
    const auto other = operand.linear(values, symbol, other_factor);
    if (!other) return std::nullopt;
    if (kind_ == Kind::Add) {
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
    const bool is_sum = operand.kind_ == Kind::Add && kind_ != Kind::Add;
    parts.push_back(is_sum ? fmt::format("({})", operand.str()) : operand.str());
  }
  switch (kind_) {
    case Kind::Add: return fmt::format("{}", fmt::join(parts, " + "));
    case Kind::Mul: return fmt::format("{}", fmt::join(parts, "*"));
    case Kind::Pow: return fmt::format("{}**{}", parts[0], parts[1]);
    case Kind::FloorDiv: return fmt::format("({}//{})", parts[0], parts[1]);
    case Kind::Mod: return fmt::format("({} % {})", parts[0], parts[1]);
    case Kind::Max: return fmt::format("max({})", fmt::join(parts, ", "));
    default: return fmt::format("min({})", fmt::join(parts, ", "));
  }
}

}  // namespace weft::exported
