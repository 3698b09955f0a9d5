#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <span>

#include "models/jinja/functions.h"
#include "models/jinja/parser.h"

namespace weft::models::jinja {
namespace {

constexpr int kMostExpressionDepth = 200;

struct Symbol {
  const char* text;
  Operator meaning;
};
constexpr Symbol kComparisons[] = {{"==", Operator::Equal},  {"!=", Operator::NotEqual},
                                   {"<", Operator::Less},    {"<=", Operator::LessEqual},
                                   {">", Operator::Greater}, {">=", Operator::GreaterEqual}};
constexpr Symbol kSums[] = {{"+", Operator::Add}, {"-", Operator::Subtract}};
constexpr Symbol kProducts[] = {{"*", Operator::Multiply},
                                {"/", Operator::Divide},
                                {"//", Operator::FloorDivide},
                                {"%", Operator::Modulo}};

const Operator* operator_of(const Token& token, std::span<const Symbol> symbols) {
  if (token.kind != TokenKind::Operator) return nullptr;
  for (const Symbol& symbol : symbols)
    if (token.text == symbol.text) return &symbol.meaning;
  return nullptr;
}

}  // namespace

ExpressionPtr TemplateParser::checked(ExpressionPtr expression) const {
  const auto look_at = [&](const ExpressionPtr& part) {
    if (part) expression->depth = std::max(expression->depth, part->depth + 1);
  };
  for (const ExpressionPtr& child : expression->children) look_at(child);
  for (const ExpressionPtr& argument : expression->arguments.positional) look_at(argument);
  for (const auto& [name, argument] : expression->arguments.named) look_at(argument);
  look_at(expression->arguments.more_positional), look_at(expression->arguments.more_named);
  if (expression->depth > kMostExpressionDepth) fail_here("the expression is nested too deep");
  return expression;
}

ExpressionPtr TemplateParser::make(ExpressionKind kind, int line) const {
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->line = line;
  return expression;
}

ExpressionPtr TemplateParser::make(ExpressionKind kind, int line, ExpressionPtr first,
                                   ExpressionPtr second) const {
  ExpressionPtr expression = make(kind, line);
  expression->children.push_back(std::move(first));
  if (second) expression->children.push_back(std::move(second));
  return checked(std::move(expression));
}

// Without `in_parentheses` there is at least one element; one alone is no tuple.
ExpressionPtr TemplateParser::parse_tuple(bool with_conditional, std::string_view end_word,
                                          bool in_parentheses) {
  const Nesting nesting(*this);
  ExpressionPtr tuple = make(ExpressionKind::Tuple, now().line);
  bool is_tuple = false;
  while (true) {
    if (now().kind == TokenKind::VariableEnd || now().kind == TokenKind::BlockEnd || is_symbol(")") ||
        (!end_word.empty() && is_word(end_word)))
      break;
    tuple->children.push_back(parse_expression(with_conditional));
    if (!skip_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && tuple->children.size() == 1) return std::move(tuple->children[0]);
  if (!is_tuple && !in_parentheses)
    fail_here(fmt::format("Expected an expression, got {}", repr_of_text(shown(now()))));
  return checked(std::move(tuple));
}

ExpressionPtr TemplateParser::parse_expression(bool with_conditional) {
  const Nesting nesting(*this);
  return with_conditional ? parse_conditional() : parse_or();
}

ExpressionPtr TemplateParser::parse_conditional() {
  const int line = now().line;
  const size_t unknown = unknown_.size();
  ExpressionPtr value = parse_or();
  while (is_word("if")) {
    unknown_.resize(unknown);  // it may never be evaluated
    skip();
    ExpressionPtr conditional = make(ExpressionKind::Conditional, line);
    conditional->children.push_back(parse_or());
    conditional->children.push_back(std::move(value));
    if (skip_word("else")) {
      const Nesting nesting(*this);
      const size_t known = unknown_.size();
      conditional->children.push_back(parse_conditional());
      unknown_.resize(known);
    }
    value = checked(std::move(conditional));
  }
  return value;
}

ExpressionPtr TemplateParser::parse_or() {
  ExpressionPtr left = parse_and();
  for (int line = now().line; skip_word("or"); line = now().line)
    left = make(ExpressionKind::Or, line, std::move(left), parse_and());
  return left;
}

ExpressionPtr TemplateParser::parse_and() {
  ExpressionPtr left = parse_not();
  for (int line = now().line; skip_word("and"); line = now().line)
    left = make(ExpressionKind::And, line, std::move(left), parse_not());
  return left;
}

ExpressionPtr TemplateParser::parse_not() {
  const Nesting nesting(*this);
  const int line = now().line;
  if (skip_word("not")) return make(ExpressionKind::Not, line, parse_not());
  return parse_compare();
}

ExpressionPtr TemplateParser::parse_compare() {
  ExpressionPtr compare = make(ExpressionKind::Compare, now().line);
  compare->children.push_back(parse_sum());
  while (true) {
    if (const Operator* symbol = operator_of(now(), kComparisons)) {
      compare->operators.push_back(*symbol);
    } else if (is_word("in")) {
      compare->operators.push_back(Operator::In);
    } else if (is_word("not") && after().kind == TokenKind::Name && after().text == "in") {
      compare->operators.push_back(Operator::NotIn);
      skip();
    } else {
      break;
    }
    skip();
    compare->children.push_back(parse_sum());
  }
  return compare->operators.empty() ? std::move(compare->children[0]) : checked(std::move(compare));
}

ExpressionPtr TemplateParser::parse_sum() {
  ExpressionPtr left = parse_concatenation();
  while (const Operator* symbol = operator_of(now(), kSums)) {
    const int line = now().line;
    skip();
    left = make(ExpressionKind::Binary, line, std::move(left), parse_concatenation());
    left->operators = {*symbol};
  }
  return left;
}

ExpressionPtr TemplateParser::parse_concatenation() {
  ExpressionPtr all = make(ExpressionKind::Concatenate, now().line);
  do all->children.push_back(parse_product());
  while (skip_symbol("~"));
  return all->children.size() == 1 ? std::move(all->children[0]) : checked(std::move(all));
}

ExpressionPtr TemplateParser::parse_product() {
  ExpressionPtr left = parse_power();
  while (const Operator* symbol = operator_of(now(), kProducts)) {
    const int line = now().line;
    skip();
    left = make(ExpressionKind::Binary, line, std::move(left), parse_power());
    left->operators = {*symbol};
  }
  return left;
}

ExpressionPtr TemplateParser::parse_power() {
  ExpressionPtr left = parse_unary(true);
  for (int line = now().line; skip_symbol("**"); line = now().line) {
    left = make(ExpressionKind::Binary, line, std::move(left), parse_unary(true));
    left->operators = {Operator::Power};
  }
  return left;
}

ExpressionPtr TemplateParser::parse_unary(bool with_filter) {
  const Nesting nesting(*this);
  const int line = now().line;
  ExpressionPtr value;
  if (skip_symbol("-"))
    value = make(ExpressionKind::Negative, line, parse_unary(false));
  else if (skip_symbol("+"))
    value = make(ExpressionKind::Positive, line, parse_unary(false));
  else
    value = parse_primary();
  value = parse_postfix(std::move(value));
  return with_filter ? parse_filters_and_tests(std::move(value)) : std::move(value);
}

void TemplateParser::note_name(std::string_view name) {
  for (MacroTree* macro : macros_) {
    macro->uses_caller = macro->uses_caller || name == "caller";
    macro->uses_arguments = macro->uses_arguments || name == "varargs";
    macro->uses_keywords = macro->uses_keywords || name == "kwargs";
  }
}

ExpressionPtr TemplateParser::number_constant() {
  ExpressionPtr constant = make(ExpressionKind::Constant, now().line);
  const std::string& text = now().text;
  if (now().kind == TokenKind::Float) {
    constant->constant = Value::real(std::strtod(text.c_str(), nullptr));
  } else {
    const char kind = text.size() > 2 && text[0] == '0' ? text[1] : '0';
    const int base = kind == 'x' || kind == 'X'   ? 16
                     : kind == 'o' || kind == 'O' ? 8
                     : kind == 'b' || kind == 'B' ? 2
                                                  : 10;
    int64_t number = 0;
    const char *begin = text.data() + (base == 10 ? 0 : 2), *end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, number, base);
    if (error != std::errc() || stop != end)
      fail_here(fmt::format("the number {} has more than 64 bits", text));
    constant->constant = Value::integer(number);
  }
  skip();
  return constant;
}

ExpressionPtr TemplateParser::parse_primary() {
  const int line = now().line;
  if (now().kind == TokenKind::Integer || now().kind == TokenKind::Float) return number_constant();
  if (now().kind == TokenKind::Name) {
    const std::string name = expect_name();
    ExpressionPtr value = make(ExpressionKind::Constant, line);
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      value->constant = Value::boolean(name == "true" || name == "True");
    } else if (name != "none" && name != "None") {
      value->kind = ExpressionKind::Name;
      value->name = tree_.names.number(name);
      note_name(name);
    }
    return value;
  }
  if (now().kind == TokenKind::String) {
    std::string text;
    for (; now().kind == TokenKind::String; skip()) text += now().text;
    ExpressionPtr value = make(ExpressionKind::Constant, line);
    value->constant = tree_.constants.text(std::move(text));
    return value;
  }
  if (skip_symbol("(")) {
    ExpressionPtr tuple = parse_tuple(true, "", true);
    expect_symbol(")");
    return tuple;
  }
  const bool is_dict = is_symbol("{");
  if (!is_dict && !is_symbol("[")) fail_here(fmt::format("unexpected {}", repr_of_text(shown(now()))));
  skip();
  const char* const end = is_dict ? "}" : "]";
  ExpressionPtr container = make(is_dict ? ExpressionKind::Dict : ExpressionKind::List, line);
  while (!is_symbol(end)) {
    if (!container->children.empty()) expect_symbol(",");
    if (is_symbol(end)) break;
    container->children.push_back(parse_expression());
    if (!is_dict) continue;
    expect_symbol(":");
    container->children.push_back(parse_expression());
  }
  skip();
  return checked(std::move(container));
}

ExpressionPtr TemplateParser::parse_postfix(ExpressionPtr of) {
  while (true) {
    if (is_symbol(".") || is_symbol("["))
      of = parse_subscript(std::move(of));
    else if (is_symbol("("))
      of = parse_call(std::move(of));
    else
      return of;
  }
}

ExpressionPtr TemplateParser::parse_filters_and_tests(ExpressionPtr of) {
  while (true) {
    if (skip_symbol("|"))
      of = parse_filter(std::move(of));
    else if (is_word("is"))
      of = parse_test(std::move(of));
    else if (is_symbol("("))
      of = parse_call(std::move(of));
    else
      return of;
  }
}

// Behind the "|"; of a block there may be several.
ExpressionPtr TemplateParser::parse_filter(ExpressionPtr of) {
  const bool is_block = of == nullptr;
  do {
    ExpressionPtr filter = make(ExpressionKind::Filter, now().line);
    filter->text = expect_name();
    while (skip_symbol(".")) filter->text += "." + expect_name();
    if (conditional_ == 0 && find_filter(filter->text) == nullptr)
      unknown_.push_back(
          fmt::format("No filter named {}. (line {})", repr_of_text(filter->text), filter->line));
    if (of) filter->children.push_back(std::move(of));
    if (is_symbol("(")) parse_arguments(*filter);
    of = checked(std::move(filter));
  } while (is_block && skip_symbol("|"));
  return of;
}

ExpressionPtr TemplateParser::parse_test(ExpressionPtr of) {
  const Nesting nesting(*this);
  skip();
  const int line = now().line;
  const bool is_negated = skip_word("not");
  ExpressionPtr test = make(ExpressionKind::Test, line);
  test->text = expect_name();
  while (skip_symbol(".")) test->text += "." + expect_name();
  if (conditional_ == 0 && find_test(test->text) == nullptr)
    unknown_.push_back(fmt::format("No test named {}. (line {})", repr_of_text(test->text), line));
  test->children.push_back(std::move(of));
  const bool has_operand = now().kind == TokenKind::Name || now().kind == TokenKind::String ||
                           now().kind == TokenKind::Integer || now().kind == TokenKind::Float ||
                           is_symbol("[") || is_symbol("{");
  if (is_symbol("(")) {
    parse_arguments(*test);
  } else if (has_operand && !is_one_of({"else", "or", "and"})) {
    if (is_word("is")) fail_here("You cannot chain multiple tests with is");
    test->arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  test = checked(std::move(test));
  return is_negated ? make(ExpressionKind::Not, line, std::move(test)) : std::move(test);
}

ExpressionPtr TemplateParser::parse_subscript(ExpressionPtr of) {
  const int line = now().line;
  if (skip_symbol(".")) {
    if (now().kind == TokenKind::Integer)
      return make(ExpressionKind::Item, line, std::move(of), number_constant());
    if (now().kind != TokenKind::Name) fail_here("expected name or number");
    ExpressionPtr attribute = make(ExpressionKind::Attribute, line, std::move(of));
    attribute->text = expect_name();
    attribute->constant = tree_.constants.text(attribute->text);
    return attribute;
  }
  skip();
  ExpressionPtr item = make(ExpressionKind::Item, line, std::move(of));
  if (is_symbol("]")) {
    item->children.push_back(make(ExpressionKind::Tuple, line));
  } else {
    if (!is_symbol(":")) item->children.push_back(parse_expression());
    if (is_symbol(":")) {
      item->kind = ExpressionKind::Slice;
      item->children.resize(2);
      while (item->children.size() < 4 && skip_symbol(":")) {
        const bool is_empty = is_symbol("]") || is_symbol(":");
        item->children.push_back(is_empty ? nullptr : parse_expression());
      }
      item->children.resize(4);
    } else if (is_symbol(",")) {
      ExpressionPtr tuple = make(ExpressionKind::Tuple, line);
      tuple->children.push_back(std::move(item->children.back()));
      while (skip_symbol(",")) tuple->children.push_back(parse_expression());
      item->children.back() = checked(std::move(tuple));
    }
  }
  expect_symbol("]");
  return checked(std::move(item));
}

ExpressionPtr TemplateParser::parse_call(ExpressionPtr of) {
  ExpressionPtr call = make(ExpressionKind::Call, now().line, std::move(of));
  parse_arguments(*call);
  return checked(std::move(call));
}

void TemplateParser::parse_arguments(Expression& call) {
  CallArguments& arguments = call.arguments;
  const auto ensure = [&](bool is_right) {
    if (!is_right) fail_here("invalid syntax for function call expression");
  };
  skip();
  for (bool is_first = true; !is_symbol(")"); is_first = false) {
    if (!is_first) {
      expect_symbol(",");
      if (is_symbol(")")) break;
    }
    if (skip_symbol("*")) {
      ensure(!arguments.more_positional && !arguments.more_named);
      arguments.more_positional = parse_expression();
    } else if (skip_symbol("**")) {
      ensure(!arguments.more_named);
      arguments.more_named = parse_expression();
    } else if (now().kind == TokenKind::Name && after().kind == TokenKind::Operator && after().text == "=") {
      ensure(!arguments.more_named);
      std::string name = expect_name();
      skip();
      arguments.named.emplace_back(std::move(name), parse_expression());
    } else {
      ensure(!arguments.more_positional && !arguments.more_named && arguments.named.empty());
      arguments.positional.push_back(parse_expression());
    }
  }
  skip();
}

}  // namespace weft::models::jinja
