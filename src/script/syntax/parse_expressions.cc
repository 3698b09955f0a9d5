// Expressions, from the loosest operators to atoms. Strings are in parse_strings.cc.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "script/syntax/expression_parser.h"
#include "script/syntax/literal.h"

namespace weft::jit {
namespace {

struct BinaryLevel {
  std::string_view text;
  BinaryOp op;
  int level;
};
// Loosest first; comparisons are looser than all of them.
constexpr BinaryLevel kBinary[] = {
    {"|", BinaryOp::BitOr, 0},      {"^", BinaryOp::BitXor, 1},      {"&", BinaryOp::BitAnd, 2},
    {"<<", BinaryOp::ShiftLeft, 3}, {">>", BinaryOp::ShiftRight, 3}, {"+", BinaryOp::Add, 4},
    {"-", BinaryOp::Sub, 4},        {"*", BinaryOp::Mul, 5},         {"/", BinaryOp::Div, 5},
    {"//", BinaryOp::FloorDiv, 5},  {"%", BinaryOp::Mod, 5},         {"@", BinaryOp::MatMul, 5},
};
constexpr int kNumLevels = 6;

constexpr std::pair<std::string_view, CompareOp> kCompare[] = {{"==", CompareOp::Eq}, {"!=", CompareOp::Ne},
                                                               {"<", CompareOp::Lt},  {"<=", CompareOp::Le},
                                                               {">", CompareOp::Gt},  {">=", CompareOp::Ge}};

}  // namespace

ExprPtr ExpressionParser::only_expression() {
  ExprPtr result = expression_list();
  expect_end();
  return result;
}

std::pair<std::vector<ExprPtr>, ExprPtr> ExpressionParser::signature() {
  std::vector<ExprPtr> types;
  expect("(");
  while (!accept(")")) {
    accept("*");
    types.push_back(expression());
    if (!is("))")) accept(",");
  }
  expect("->");
  ExprPtr result = expression_list();
  expect_end();
  return {std::move(types), std::move(result)};
}

void ExpressionParser::check_target(const Expr& target, bool may_unpack) const {
  if (target.as<Expr::Name>() || target.as<Expr::Attribute>() || target.as<Expr::Subscript>()) return;
  const auto check_all = [&](const std::vector<ExprPtr>& elements) {
    for (const ExprPtr& element : elements) check_target(*element, true);
  };
  if (may_unpack) {
    if (const auto* tuple = target.as<Expr::Tuple>()) return check_all(tuple->elements);
    if (const auto* list = target.as<Expr::List>()) return check_all(list->elements);
    if (const auto* starred = target.as<Expr::Starred>()) return check_target(*starred->value, false);
  }
  syntax_error(target.range, "cannot assign to this expression");
}

ExprPtr ExpressionParser::expression_list() {
  const size_t begin = token().begin;
  ExprPtr first = star_expression();
  if (!is(",")) return first;
  std::vector<ExprPtr> elements;
  elements.push_back(std::move(first));
  while (accept(",")) {
    if (ends_list()) break;
    elements.push_back(star_expression());
  }
  return make(Expr::Tuple{std::move(elements)}, since(begin));
}

bool ExpressionParser::ends_list() const {
  static constexpr std::string_view kAugmented[] = {
      "+=", "-=", "*=", "/=", "%=", "@=", "&=", "|=", "^=", "**=", "//=", "<<=", ">>="};
  return ends_statement() || is(")") || is("]") || is("}") || is("=") || is(":") || is_name("in") ||
         std::any_of(std::begin(kAugmented), std::end(kAugmented),
                     [&](std::string_view op) { return is(op); });
}

ExprPtr ExpressionParser::star_expression() {
  const size_t begin = token().begin;
  if (!accept("*")) return expression();
  ExprPtr value = binary(0);
  return make(Expr::Starred{std::move(value)}, since(begin));
}

ExprPtr ExpressionParser::target_list() {
  const size_t begin = token().begin;
  const auto one = [&]() -> ExprPtr {
    const size_t start = token().begin;
    if (!accept("*")) return primary();
    ExprPtr value = primary();
    return make(Expr::Starred{std::move(value)}, since(start));
  };
  ExprPtr first = one();
  if (is(",")) {
    std::vector<ExprPtr> elements;
    elements.push_back(std::move(first));
    while (accept(",")) {
      if (is_name("in")) break;
      elements.push_back(one());
    }
    first = make(Expr::Tuple{std::move(elements)}, since(begin));
  }
  check_target(*first, true);
  return first;
}

ExprPtr ExpressionParser::expression() {
  const Nesting nesting(*this);
  const size_t begin = token().begin;
  if (is_name("lambda")) absent("lambda is");
  if (is_name("yield") || is_name("await")) absent(fmt::format("{} is", text()));
  ExprPtr value = disjunction();
  if (is(":=")) absent("':=' is");
  if (!is_name("if")) return value;
  advance();
  ExprPtr condition = disjunction();
  expect_name("else");
  ExprPtr otherwise = expression();
  return make(Expr::IfExpr{std::move(condition), std::move(value), std::move(otherwise)}, since(begin));
}

template <class F>
ExprPtr ExpressionParser::bool_op(std::string_view word, bool is_and, F operand) {
  const size_t begin = token().begin;
  const Chain chain(*this);
  ExprPtr left = operand();
  while (accept_name(word)) {
    chain.grow();
    ExprPtr right = operand();
    left = make(Expr::BoolOp{is_and, std::move(left), std::move(right)}, since(begin));
  }
  return left;
}

ExprPtr ExpressionParser::disjunction() {
  return bool_op("or", false, [this] { return bool_op("and", true, [this] { return negation(); }); });
}

ExprPtr ExpressionParser::negation() {
  const Nesting nesting(*this);
  const size_t begin = token().begin;
  if (!accept_name("not")) return comparison();
  ExprPtr operand = negation();
  return make(Expr::Unary{UnaryOp::Not, std::move(operand)}, since(begin));
}

std::optional<CompareOp> ExpressionParser::compare_op() {
  for (const auto& [symbol, op] : kCompare) {
    if (accept(symbol)) return op;
  }
  if (accept_name("in")) return CompareOp::In;
  if (is_name("not") && at_ + 1 < tokens_.size() && text(tokens_[at_ + 1]) == "in")
    return advance(), advance(), CompareOp::NotIn;
  if (accept_name("is")) return accept_name("not") ? CompareOp::IsNot : CompareOp::Is;
  return std::nullopt;
}

ExprPtr ExpressionParser::comparison() {
  const size_t begin = token().begin;
  ExprPtr left = binary(0);
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
  while (const auto op = compare_op()) {
    ExprPtr right = binary(0);
    rest.emplace_back(*op, std::move(right));
  }
  if (rest.empty()) return left;
  return make(Expr::Compare{std::move(left), std::move(rest)}, since(begin));
}

ExprPtr ExpressionParser::binary(int level) {
  if (level == kNumLevels) return unary();
  const size_t begin = token().begin;
  const Chain chain(*this);
  ExprPtr left = binary(level + 1);
  while (token().kind == TokenKind::Operator) {
    const auto* found = std::find_if(std::begin(kBinary), std::end(kBinary),
                                     [&](const BinaryLevel& b) { return b.level == level && is(b.text); });
    if (found == std::end(kBinary)) return left;
    chain.grow();
    advance();
    ExprPtr right = binary(level + 1);
    left = make(Expr::Binary{found->op, std::move(left), std::move(right)}, since(begin));
  }
  return left;
}

ExprPtr ExpressionParser::unary() {
  const Nesting nesting(*this);
  const size_t begin = token().begin;
  static constexpr std::pair<std::string_view, UnaryOp> kUnary[] = {
      {"-", UnaryOp::Neg}, {"+", UnaryOp::Pos}, {"~", UnaryOp::Invert}};
  for (const auto& [symbol, op] : kUnary) {
    if (!accept(symbol)) continue;
    // The smallest integer has no positive counterpart.
    if (op == UnaryOp::Neg && token().kind == TokenKind::Number && text() == "9223372036854775808") {
      advance();
      return make(Expr::Constant{INT64_MIN}, since(begin));
    }
    ExprPtr operand = unary();
    return make(Expr::Unary{op, std::move(operand)}, since(begin));
  }
  return power();
}

ExprPtr ExpressionParser::power() {
  const size_t begin = token().begin;
  ExprPtr base = primary();
  if (!accept("**")) return base;
  ExprPtr exponent = unary();
  return make(Expr::Binary{BinaryOp::Pow, std::move(base), std::move(exponent)}, since(begin));
}

ExprPtr ExpressionParser::primary() {
  const Nesting nesting(*this);
  const size_t begin = token().begin;
  const Chain chain(*this);
  ExprPtr result = atom();
  for (;; chain.grow()) {
    if (accept(".")) {
      if (token().kind != TokenKind::Name) fail(fmt::format("expected a name, got {}", shown()));
      std::string name(text());
      advance();
      result = make(Expr::Attribute{std::move(result), std::move(name)}, since(begin));
    } else if (is("(")) {
      result = call(std::move(result), begin);
    } else if (accept("[")) {
      std::vector<ExprPtr> indices;
      while (!accept("]")) {
        indices.push_back(slice());
        if (!is("]")) expect(",");
      }
      if (indices.empty()) fail("a subscript needs an index");
      result = make(Expr::Subscript{std::move(result), std::move(indices)}, since(begin));
    } else {
      return result;
    }
  }
}

ExprPtr ExpressionParser::call(ExprPtr callee, size_t begin) {
  expect("(");
  Expr::Call result;
  result.function = std::move(callee);
  while (!accept(")")) {
    const size_t start = token().begin;
    if (accept("**")) {
      ExprPtr value = expression();
      result.keywords.push_back({"", std::move(value), since(start)});
    } else if (token().kind == TokenKind::Name && !is_keyword(text()) && next_is("=")) {
      std::string name = identifier();
      expect("=");
      ExprPtr value = expression();
      result.keywords.push_back({std::move(name), std::move(value), since(start)});
    } else {
      result.arguments.push_back(star_expression());
      if (is_name("for")) absent("a generator expression is");
    }
    if (!is(")")) expect(",");
  }
  return make(std::move(result), since(begin));
}

// x[(Ellipsis, slice(None, 1, None))], as torch.fx writes x[..., :1].
ExprPtr ExpressionParser::as_index(ExprPtr index) {
  if (auto* tuple = std::get_if<Expr::Tuple>(&index->node)) {
    for (ExprPtr& item : tuple->elements) item = as_index(std::move(item));
    return index;
  }
  if (const auto* name = index->as<Expr::Name>(); name && name->id == "Ellipsis")
    return make(Expr::Ellipsis{}, index->range);
  auto* call = std::get_if<Expr::Call>(&index->node);
  const auto* function = call ? call->function->as<Expr::Name>() : nullptr;
  if (!function || function->id != "slice" || !call->keywords.empty() || call->arguments.empty() ||
      call->arguments.size() > 3)
    return index;
  const auto part = [&](size_t at) -> ExprPtr {
    if (at >= call->arguments.size()) return nullptr;
    const auto* constant = call->arguments[at]->as<Expr::Constant>();
    const bool is_none = constant && std::holds_alternative<std::monostate>(constant->value);
    return is_none ? nullptr : std::move(call->arguments[at]);
  };
  const bool is_stop = call->arguments.size() == 1;
  Expr::Slice result;
  if (!is_stop) result.start = part(0);
  result.stop = part(is_stop ? 0 : 1);
  result.step = part(2);
  return make(std::move(result), index->range);
}

ExprPtr ExpressionParser::slice() {
  const size_t begin = token().begin;
  ExprPtr start;
  if (!is(":")) {
    start = star_expression();
    if (!is(":")) return as_index(std::move(start));
  }
  expect(":");
  Expr::Slice result;
  result.start = std::move(start);
  if (!is(":") && !is("]") && !is(",")) result.stop = expression();
  if (accept(":") && !is("]") && !is(",")) result.step = expression();
  return make(std::move(result), since(begin));
}

ExprPtr ExpressionParser::atom() {
  const size_t begin = token().begin;
  switch (token().kind) {
    case TokenKind::Number: {
      Expr::Constant value = number();
      advance();
      return make(std::move(value), since(begin));
    }
    case TokenKind::String: return string();
    case TokenKind::Name: return name();
    case TokenKind::Operator:
      if (is("(")) return parenthesized();
      if (is("[")) return list();
      if (is("{")) return dict();
      if (accept("...")) return make(Expr::Ellipsis{}, since(begin));
      break;
    default: break;
  }
  fail(fmt::format("expected an expression, got {}", shown()));
}

ExprPtr ExpressionParser::name() {
  const size_t begin = token().begin;
  const std::string_view word = text();
  if (word == "lambda" || word == "yield" || word == "await") absent(fmt::format("{} is", word));
  Expr::Constant constant;
  bool is_constant = true;
  if (word == "None")
    constant.value = std::monostate();
  else if (word == "True")
    constant.value = true;
  else if (word == "False")
    constant.value = false;
  else
    is_constant = false;
  if (is_constant) {
    advance();
    return make(std::move(constant), since(begin));
  }
  std::string id = identifier();
  return make(Expr::Name{std::move(id)}, since(begin));
}

ExprPtr ExpressionParser::parenthesized() {
  const size_t begin = token().begin;
  expect("(");
  if (accept(")")) return make(Expr::Tuple{}, since(begin));
  ExprPtr inner = star_expression();
  if (is_name("for")) absent("a generator expression is");
  if (!is(",")) {
    if (inner->as<Expr::Starred>()) fail("a starred expression must be in a list or tuple");
    expect(")");
    return inner;
  }
  std::vector<ExprPtr> elements;
  elements.push_back(std::move(inner));
  while (accept(",")) {
    if (is(")")) break;
    elements.push_back(star_expression());
  }
  expect(")");
  return make(Expr::Tuple{std::move(elements)}, since(begin));
}

Comprehension ExpressionParser::comprehension() {
  Comprehension loop;
  expect_name("for");
  loop.target = target_list();
  expect_name("in");
  loop.iterable = disjunction();
  while (accept_name("if")) loop.conditions.push_back(disjunction());
  if (is_name("for")) fail("a comprehension with several 'for' is not part of TorchScript");
  return loop;
}

ExprPtr ExpressionParser::list() {
  const size_t begin = token().begin;
  expect("[");
  std::vector<ExprPtr> elements;
  while (!accept("]")) {
    elements.push_back(star_expression());
    if (is_name("for") && elements.size() == 1) {
      Comprehension loop = comprehension();
      expect("]");
      return make(Expr::ListComp{std::move(elements[0]), std::move(loop)}, since(begin));
    }
    if (!is("]")) expect(",");
  }
  return make(Expr::List{std::move(elements)}, since(begin));
}

ExprPtr ExpressionParser::dict() {
  const size_t begin = token().begin;
  expect("{");
  Expr::Dict result;
  while (!accept("}")) {
    if (is("**")) absent("** in a dictionary is");
    ExprPtr key = expression();
    if (!is(":")) absent("a set is");
    expect(":");
    ExprPtr value = expression();
    if (is_name("for") && result.items.empty()) {
      Comprehension loop = comprehension();
      expect("}");
      return make(Expr::DictComp{std::move(key), std::move(value), std::move(loop)}, since(begin));
    }
    result.items.emplace_back(std::move(key), std::move(value));
    if (!is("}")) expect(",");
  }
  return make(std::move(result), since(begin));
}

Expr::Constant ExpressionParser::number() const {
  std::string digits;
  for (const char c : text()) {
    if (c != '_') digits += c;
  }
  if (auto value = parse_number(digits)) return {*value};
  fail(fmt::format("number {} does not fit into 64 bits", digits.substr(0, 40)));
}

}  // namespace weft::jit
