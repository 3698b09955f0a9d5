#include "script/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "script/lexer.h"
#include "script/literal.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

template <class T>
ExprPtr make(T node, Range range) {
  auto result = std::make_unique<Expr>();
  result->node = std::move(node);
  result->range = std::move(range);
  return result;
}
template <class T>
StmtPtr make_stmt(T node, Range range) {
  auto result = std::make_unique<Stmt>();
  result->node = std::move(node);
  result->range = std::move(range);
  return result;
}

struct BinaryLevel {
  std::string_view text;
  BinaryOp op;
  int level;
};
// Loosest first; comparisons are looser than all of them.
constexpr BinaryLevel kBinary[] = {
    {"|", BinaryOp::BitOr, 0},  {"^", BinaryOp::BitXor, 1},   {"&", BinaryOp::BitAnd, 2}, {"<<", BinaryOp::ShiftLeft, 3},
    {">>", BinaryOp::ShiftRight, 3}, {"+", BinaryOp::Add, 4}, {"-", BinaryOp::Sub, 4},   {"*", BinaryOp::Mul, 5},
    {"/", BinaryOp::Div, 5},    {"//", BinaryOp::FloorDiv, 5}, {"%", BinaryOp::Mod, 5},   {"@", BinaryOp::MatMul, 5},
};
constexpr int kNumLevels = 6;

constexpr std::pair<std::string_view, CompareOp> kCompare[] = {
    {"==", CompareOp::Eq}, {"!=", CompareOp::Ne}, {"<", CompareOp::Lt}, {"<=", CompareOp::Le}, {">", CompareOp::Gt}, {">=", CompareOp::Ge}};

class Parser {
 public:
  Parser(SourcePtr source, size_t begin, size_t end, bool is_expression, int depth = 0)
      : source_(std::move(source)), tokens_(tokenize(source_, begin, end, is_expression)), depth_(depth) {}

  Body file() {
    Body body;
    while (!at_end()) statement(body);
    return body;
  }

  FunctionDef only_function() {
    std::vector<ExprPtr> decorators = decorator_list();
    if (!is_name("def")) fail("expected a function definition");
    FunctionDef result = function(std::move(decorators));
    expect_end();
    return result;
  }

  ClassDef only_class() {
    std::vector<ExprPtr> decorators = decorator_list();
    if (!is_name("class")) fail("expected a class definition");
    ClassDef result = class_definition(std::move(decorators));
    expect_end();
    return result;
  }

  ExprPtr only_expression() {
    ExprPtr result = expression_list();
    expect_end();
    return result;
  }

  // "(int, Tensor) -> int", as a comment gives a function's types.
  std::pair<std::vector<ExprPtr>, ExprPtr> signature() {
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

 private:
  // Counts nesting, so that hostile input cannot exhaust the stack.
  struct Nesting {
    Parser& parser;
    explicit Nesting(Parser& p) : parser(p) {
      if (++parser.depth_ > kMaxDepth) parser.fail(fmt::format("nesting deeper than {} levels", kMaxDepth));
    }
    ~Nesting() { --parser.depth_; }
  };

  // "a + b + c", "a.b(c).d": a tree that is deep on its left. Counts how deep the expressions parsed since its start are,
  // chains inside one another included.
  struct Chain {
    Parser& parser;
    int outer;
    explicit Chain(Parser& p) : parser(p), outer(std::exchange(p.links_, 0)) {}
    ~Chain() { parser.links_ = std::max(outer, parser.links_); }
    void grow() const {
      if (++parser.links_ > kMaxChain) parser.fail(fmt::format("more than {} operators, calls and attributes in a row", kMaxChain));
    }
  };

  // ---- tokens ----------------------------------------------------------------------------------------------
  const Token& token() const { return tokens_[at_]; }
  std::string_view text(const Token& t) const { return std::string_view(source_->text).substr(t.begin, t.end - t.begin); }
  std::string_view text() const { return text(token()); }
  bool at_end() const { return token().kind == TokenKind::End; }
  // Asked of every token many times over: most are told apart by their first character.
  bool is(std::string_view op) const {
    const Token& t = token();
    return t.kind == TokenKind::Operator && source_->text[t.begin] == op[0] && t.end - t.begin == op.size() && text(t) == op;
  }
  bool is_name(std::string_view name) const { return token().kind == TokenKind::Name && text() == name; }
  bool next_is(std::string_view op) const {
    return at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == TokenKind::Operator && text(tokens_[at_ + 1]) == op;
  }
  void advance() {
    last_ = at_;
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool accept(std::string_view op) {
    if (!is(op)) return false;
    advance();
    return true;
  }
  bool accept_name(std::string_view name) {
    if (!is_name(name)) return false;
    advance();
    return true;
  }
  bool accept(TokenKind kind) {
    if (token().kind != kind) return false;
    advance();
    return true;
  }
  void expect(std::string_view op) {
    if (!accept(op)) fail(fmt::format("expected '{}', got {}", op, shown()));
  }
  void expect_name(std::string_view name) {
    if (!accept_name(name)) fail(fmt::format("expected '{}', got {}", name, shown()));
  }
  void expect_end() {
    while (accept(TokenKind::Newline)) {
    }
    if (!at_end()) fail(fmt::format("expected the end, got {}", shown()));
  }
  std::string shown() const {
    switch (token().kind) {
      case TokenKind::Newline: return "the end of the line";
      case TokenKind::Indent: return "an indented line";
      case TokenKind::Dedent:
      case TokenKind::End: return "the end of the block";
      default: return fmt::format("'{}'", text().substr(0, 40));
    }
  }
  std::string identifier() {
    if (token().kind != TokenKind::Name || is_keyword(text())) fail(fmt::format("expected a name, got {}", shown()));
    std::string name(text());
    advance();
    return name;
  }
  [[noreturn]] void fail(const std::string& message) const { syntax_error(range(token()), message); }
  [[noreturn]] void absent(std::string_view what) const { fail(fmt::format("{} not part of TorchScript", what)); }

  Range range(const Token& t) const { return {source_, t.begin, std::max(t.end, t.begin + (t.begin < source_->text.size() ? 1 : 0))}; }
  Range since(size_t begin) const { return {source_, begin, tokens_[last_].end}; }

  // ---- statements ------------------------------------------------------------------------------------------
  void statement(Body& body) {
    const Nesting nesting(*this);
    if (accept(TokenKind::Newline)) return;
    if (token().kind == TokenKind::Indent) fail("unexpected indentation");
    if (is("@")) {
      decorated(body);
    } else if (token().kind == TokenKind::Name && compound(body)) {
    } else {
      simple_line(body);
    }
  }

  bool compound(Body& body) {
    const size_t begin = token().begin;
    const std::string_view word = text();
    if (word == "if") {
      body.push_back(if_statement());
    } else if (word == "while") {
      advance();
      ExprPtr condition = expression();
      Body inner = suite();
      no_else("while");
      body.push_back(make_stmt(Stmt::While{std::move(condition), std::move(inner)}, since_line(begin)));
    } else if (word == "for") {
      advance();
      ExprPtr target = target_list();
      expect_name("in");
      ExprPtr iterable = expression_list();
      Body inner = suite();
      no_else("for");
      body.push_back(make_stmt(Stmt::For{std::move(target), std::move(iterable), std::move(inner)}, since_line(begin)));
    } else if (word == "with") {
      body.push_back(with_statement());
    } else if (word == "def") {
      FunctionDef definition = function({});
      Range where = definition.range;
      body.push_back(make_stmt(Stmt::Def{std::move(definition)}, std::move(where)));
    } else if (word == "class") {
      ClassDef definition = class_definition({});
      Range where = definition.range;
      body.push_back(make_stmt(Stmt::Class{std::move(definition)}, std::move(where)));
    } else if (word == "try") {
      absent("try is");
    } else if (word == "async") {
      absent("async is");
    } else {
      return false;
    }
    return true;
  }

  // A compound statement's range is its first line.
  Range since_line(size_t begin) const {
    const size_t end = source_->text.find('\n', begin);
    return {source_, begin, end == std::string::npos ? source_->text.size() : end};
  }

  void no_else(std::string_view what) {
    if (is_name("else")) fail(fmt::format("'else' of a '{}' loop is not part of TorchScript", what));
  }

  void decorated(Body& body) {
    std::vector<ExprPtr> decorators = decorator_list();
    if (is_name("def")) {
      FunctionDef definition = function(std::move(decorators));
      Range where = definition.range;
      body.push_back(make_stmt(Stmt::Def{std::move(definition)}, std::move(where)));
    } else if (is_name("class")) {
      ClassDef definition = class_definition(std::move(decorators));
      Range where = definition.range;
      body.push_back(make_stmt(Stmt::Class{std::move(definition)}, std::move(where)));
    } else {
      fail("expected a function or a class after a decorator");
    }
  }

  std::vector<ExprPtr> decorator_list() {
    std::vector<ExprPtr> decorators;
    while (accept(TokenKind::Newline)) {
    }
    while (accept("@")) {
      decorators.push_back(expression());
      while (accept(TokenKind::Newline)) {
      }
    }
    return decorators;
  }

  // ":" and the indented block, or simple statements on the same line.
  Body suite() {
    expect(":");
    Body body;
    if (!accept(TokenKind::Newline)) {
      simple_line(body);
      return body;
    }
    if (!accept(TokenKind::Indent)) fail("expected an indented block");
    while (!accept(TokenKind::Dedent)) {
      if (at_end()) break;
      statement(body);
    }
    return body;
  }

  StmtPtr if_statement() {
    const Nesting nesting(*this);
    const size_t begin = token().begin;
    advance();  // if or elif
    ExprPtr condition = expression();
    Body then = suite(), otherwise;
    if (is_name("elif")) {
      otherwise.push_back(if_statement());
    } else if (accept_name("else")) {
      otherwise = suite();
    }
    return make_stmt(Stmt::If{std::move(condition), std::move(then), std::move(otherwise)}, since_line(begin));
  }

  StmtPtr with_statement() {
    const size_t begin = token().begin;
    advance();
    Stmt::With result;
    do {
      WithItem item;
      item.context = expression();
      if (accept_name("as")) item.target = primary();
      result.items.push_back(std::move(item));
    } while (accept(","));
    result.body = suite();
    return make_stmt(std::move(result), since_line(begin));
  }

  void simple_line(Body& body) {
    do {
      if (token().kind == TokenKind::Newline || at_end()) break;
      body.push_back(simple());
    } while (accept(";"));
    if (at_end() || token().kind == TokenKind::Dedent) return;
    if (!accept(TokenKind::Newline)) fail(fmt::format("expected the end of the line, got {}", shown()));
  }

  bool ends_statement() const {
    return token().kind == TokenKind::Newline || token().kind == TokenKind::End || token().kind == TokenKind::Dedent || is(";");
  }

  StmtPtr simple() {
    const size_t begin = token().begin;
    if (token().kind == TokenKind::Name) {
      const std::string_view word = text();
      if (word == "pass") return advance(), make_stmt(Stmt::Pass{}, since(begin));
      if (word == "break") return advance(), make_stmt(Stmt::Break{}, since(begin));
      if (word == "continue") return advance(), make_stmt(Stmt::Continue{}, since(begin));
      if (word == "return") {
        advance();
        ExprPtr value = ends_statement() ? nullptr : expression_list();
        return make_stmt(Stmt::Return{std::move(value)}, since(begin));
      }
      if (word == "raise") {
        advance();
        Stmt::Raise result;
        if (!ends_statement()) result.exception = expression();
        if (accept_name("from")) result.cause = expression();
        return make_stmt(std::move(result), since(begin));
      }
      if (word == "assert") {
        advance();
        Stmt::Assert result;
        result.condition = expression();
        if (accept(",")) result.message = expression();
        return make_stmt(std::move(result), since(begin));
      }
      if (word == "del") {
        advance();
        Stmt::Delete result;
        do result.targets.push_back(primary());
        while (accept(",") && !ends_statement());
        return make_stmt(std::move(result), since(begin));
      }
      if (word == "import" || word == "from") {
        while (!ends_statement()) advance();
        const Range where = since(begin);
        return make_stmt(Stmt::Import{source_->text.substr(where.begin, where.end - where.begin)}, where);
      }
      if (word == "global" || word == "nonlocal" || word == "yield" || word == "await") absent(fmt::format("{} is", word));
    }
    return assignment();
  }

  StmtPtr assignment() {
    const size_t begin = token().begin;
    ExprPtr first = expression_list();
    static constexpr std::pair<std::string_view, BinaryOp> kAugmented[] = {
        {"+=", BinaryOp::Add},       {"-=", BinaryOp::Sub},   {"*=", BinaryOp::Mul},   {"/=", BinaryOp::Div},     {"//=", BinaryOp::FloorDiv},
        {"%=", BinaryOp::Mod},       {"**=", BinaryOp::Pow},  {"@=", BinaryOp::MatMul}, {"&=", BinaryOp::BitAnd}, {"|=", BinaryOp::BitOr},
        {"^=", BinaryOp::BitXor}, {"<<=", BinaryOp::ShiftLeft}, {">>=", BinaryOp::ShiftRight}};
    for (const auto& [symbol, op] : kAugmented) {
      if (!accept(symbol)) continue;
      check_target(*first, false);
      ExprPtr value = expression_list();
      return make_stmt(Stmt::AugAssign{op, std::move(first), std::move(value)}, since(begin));
    }
    Stmt::Assign result;
    if (accept(":")) {
      check_target(*first, false);
      result.annotation = expression();
      result.targets.push_back(std::move(first));
      if (accept("=")) result.value = expression_list();
      return make_stmt(std::move(result), since(begin));
    }
    if (!is("=")) return make_stmt(Stmt::Expression{std::move(first)}, since(begin));
    ExprPtr value = std::move(first);
    while (accept("=")) {
      check_target(*value, true);
      result.targets.push_back(std::move(value));
      value = expression_list();
    }
    result.value = std::move(value);
    Range where = since(begin);
    const Token& last = tokens_[last_];
    if (last.comment_end) result.annotation = type_comment(last);
    return make_stmt(std::move(result), std::move(where));
  }

  void check_target(const Expr& target, bool may_unpack) const {
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

  ExprPtr type_comment(const Token& t) {
    return Parser(source_, t.comment_begin, t.comment_end, true, depth_).only_expression();
  }

  // ---- definitions -----------------------------------------------------------------------------------------
  FunctionDef function(std::vector<ExprPtr> decorators) {
    const Nesting nesting(*this);
    FunctionDef result;
    result.decorators = std::move(decorators);
    const size_t begin = token().begin;
    expect_name("def");
    result.name = identifier();
    result.range = since(begin);
    expect("(");
    parameters(result);
    if (accept("->")) result.returns = expression();
    size_t comment = tokens_.size();
    if (is(":") && token().comment_end) comment = at_;
    else if (is(":") && at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == TokenKind::Newline && tokens_[at_ + 1].comment_end) comment = at_ + 1;
    if (comment < tokens_.size()) comment_signature(result, tokens_[comment]);
    result.body = suite();
    result.docstring = docstring(result.body);
    return result;
  }

  void parameters(FunctionDef& function) {
    bool keyword_only = false;
    while (!accept(")")) {
      Parameter parameter;
      const size_t begin = token().begin;
      if (accept("/")) {
        if (!is(")")) expect(",");
        continue;
      }
      if (accept("**")) {
        parameter.kind = Parameter::Kind::VarKeywords;
      } else if (accept("*")) {
        keyword_only = true;
        if (accept(",")) continue;
        parameter.kind = Parameter::Kind::VarArgs;
      } else if (keyword_only) {
        parameter.kind = Parameter::Kind::KeywordOnly;
      }
      parameter.name = identifier();
      parameter.range = since(begin);
      if (accept(":")) parameter.annotation = expression();
      if (accept("=")) parameter.default_value = expression();
      if (!is(")")) expect(",");
      const Token& last = tokens_[last_];
      if (!parameter.annotation && last.comment_end && source_->text[last.comment_begin] != '(') parameter.annotation = type_comment(last);
      function.parameters.push_back(std::move(parameter));
    }
  }

  void comment_signature(FunctionDef& function, const Token& t) {
    if (source_->text[t.comment_begin] != '(') return;
    auto [types, returns] = Parser(source_, t.comment_begin, t.comment_end, true, depth_).signature();
    const size_t given = types.size(), wanted = function.parameters.size();
    if (given != wanted && given + 1 != wanted) {
      syntax_error(Range{source_, t.comment_begin, t.comment_end},
                   fmt::format("the type comment has {} types for {} parameters", given, wanted));
    }
    for (size_t i = 0; i < given; ++i) function.parameters[wanted - given + i].annotation = std::move(types[i]);
    function.returns = std::move(returns);
  }

  static std::string docstring(Body& body) {
    if (body.empty()) return "";
    const auto* statement = body[0]->as<Stmt::Expression>();
    const auto* constant = statement ? statement->value->as<Expr::Constant>() : nullptr;
    const auto* text = constant ? std::get_if<std::string>(&constant->value) : nullptr;
    if (!text) return "";
    std::string result = *text;
    const Range range = body[0]->range;
    body.erase(body.begin());
    if (body.empty()) body.push_back(make_stmt(Stmt::Pass{}, range));
    return result;
  }

  ClassDef class_definition(std::vector<ExprPtr> decorators) {
    const Nesting nesting(*this);
    ClassDef result;
    result.decorators = std::move(decorators);
    const size_t begin = token().begin;
    expect_name("class");
    result.name = identifier();
    result.range = since(begin);
    if (accept("(")) {
      while (!accept(")")) {
        result.bases.push_back(expression());
        if (is("=")) fail("keyword arguments of a class are not part of TorchScript");
        if (!is(")")) expect(",");
      }
    }
    result.body = suite();
    result.docstring = docstring(result.body);
    return result;
  }

  // ---- expressions -----------------------------------------------------------------------------------------
  // "a, b" is a tuple.
  ExprPtr expression_list() {
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

  bool ends_list() const {
    static constexpr std::string_view kAugmented[] = {"+=", "-=", "*=", "/=", "%=", "@=", "&=", "|=", "^=", "**=", "//=", "<<=", ">>="};
    return ends_statement() || is(")") || is("]") || is("}") || is("=") || is(":") || is_name("in") ||
           std::any_of(std::begin(kAugmented), std::end(kAugmented), [&](std::string_view op) { return is(op); });
  }

  ExprPtr star_expression() {
    const size_t begin = token().begin;
    if (!accept("*")) return expression();
    ExprPtr value = binary(0);
    return make(Expr::Starred{std::move(value)}, since(begin));
  }

  // What may stand after "for": names, attributes, subscripts and tuples of them, but no "in".
  ExprPtr target_list() {
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

  ExprPtr expression() {
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

  ExprPtr disjunction() { return bool_op("or", false, [this] { return bool_op("and", true, [this] { return negation(); }); }); }

  template <class F>
  ExprPtr bool_op(std::string_view word, bool is_and, F operand) {
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

  ExprPtr negation() {
    const Nesting nesting(*this);
    const size_t begin = token().begin;
    if (!accept_name("not")) return comparison();
    ExprPtr operand = negation();
    return make(Expr::Unary{UnaryOp::Not, std::move(operand)}, since(begin));
  }

  std::optional<CompareOp> compare_op() {
    for (const auto& [symbol, op] : kCompare) {
      if (accept(symbol)) return op;
    }
    if (accept_name("in")) return CompareOp::In;
    if (is_name("not") && at_ + 1 < tokens_.size() && text(tokens_[at_ + 1]) == "in") return advance(), advance(), CompareOp::NotIn;
    if (accept_name("is")) return accept_name("not") ? CompareOp::IsNot : CompareOp::Is;
    return std::nullopt;
  }

  ExprPtr comparison() {
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

  ExprPtr binary(int level) {
    if (level == kNumLevels) return unary();
    const size_t begin = token().begin;
    const Chain chain(*this);
    ExprPtr left = binary(level + 1);
    while (token().kind == TokenKind::Operator) {
      const auto* found = std::find_if(std::begin(kBinary), std::end(kBinary), [&](const BinaryLevel& b) { return b.level == level && is(b.text); });
      if (found == std::end(kBinary)) return left;
      chain.grow();
      advance();
      ExprPtr right = binary(level + 1);
      left = make(Expr::Binary{found->op, std::move(left), std::move(right)}, since(begin));
    }
    return left;
  }

  ExprPtr unary() {
    const Nesting nesting(*this);
    const size_t begin = token().begin;
    static constexpr std::pair<std::string_view, UnaryOp> kUnary[] = {{"-", UnaryOp::Neg}, {"+", UnaryOp::Pos}, {"~", UnaryOp::Invert}};
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

  ExprPtr power() {
    const size_t begin = token().begin;
    ExprPtr base = primary();
    if (!accept("**")) return base;
    ExprPtr exponent = unary();
    return make(Expr::Binary{BinaryOp::Pow, std::move(base), std::move(exponent)}, since(begin));
  }

  ExprPtr primary() {
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

  ExprPtr call(ExprPtr callee, size_t begin) {
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

  ExprPtr slice() {
    const size_t begin = token().begin;
    ExprPtr start;
    if (!is(":")) {
      start = star_expression();
      if (!is(":")) return start;
    }
    expect(":");
    Expr::Slice result;
    result.start = std::move(start);
    if (!is(":") && !is("]") && !is(",")) result.stop = expression();
    if (accept(":") && !is("]") && !is(",")) result.step = expression();
    return make(std::move(result), since(begin));
  }

  ExprPtr atom() {
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

  ExprPtr name() {
    const size_t begin = token().begin;
    const std::string_view word = text();
    if (word == "lambda" || word == "yield" || word == "await") absent(fmt::format("{} is", word));
    Expr::Constant constant;
    bool is_constant = true;
    if (word == "None") constant.value = std::monostate();
    else if (word == "True") constant.value = true;
    else if (word == "False") constant.value = false;
    else is_constant = false;
    if (is_constant) {
      advance();
      return make(std::move(constant), since(begin));
    }
    std::string id = identifier();
    return make(Expr::Name{std::move(id)}, since(begin));
  }

  ExprPtr parenthesized() {
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

  Comprehension comprehension() {
    Comprehension loop;
    expect_name("for");
    loop.target = target_list();
    expect_name("in");
    loop.iterable = disjunction();
    while (accept_name("if")) loop.conditions.push_back(disjunction());
    if (is_name("for")) fail("a comprehension with several 'for' is not part of TorchScript");
    return loop;
  }

  ExprPtr list() {
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

  ExprPtr dict() {
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

  Expr::Constant number() const {
    std::string digits;
    for (const char c : text()) {
      if (c != '_') digits += c;
    }
    if (auto value = parse_number(digits)) return {*value};
    fail(fmt::format("number {} does not fit into 64 bits", digits.substr(0, 40)));
  }

  // Adjacent strings are one; with an f among them, they are one f-string.
  ExprPtr string() {
    const size_t begin = token().begin;
    std::vector<Expr::FString::Part> parts;
    std::string literal;
    bool formatted = false;
    while (token().kind == TokenKind::String) {
      const StringToken piece = split_string(text());
      const size_t start = token().begin + piece.begin, end = token().begin + piece.end;
      if (piece.is_format) {
        formatted = true;
        format_parts(start, end, piece.is_raw, literal, parts);
      } else {
        literal += unescape(start, end, piece.is_raw);
      }
      advance();
    }
    if (!formatted) return make(Expr::Constant{std::move(literal)}, since(begin));
    if (!literal.empty()) parts.push_back({std::move(literal), nullptr, 0, ""});
    return make(Expr::FString{std::move(parts)}, since(begin));
  }

  std::string unescape(size_t begin, size_t end, bool raw) const {
    const std::string_view body = std::string_view(source_->text).substr(begin, end - begin);
    if (raw) return std::string(body);
    std::string message;
    auto value = unescape_string(body, message);
    if (!value) syntax_error(Range{source_, begin, end}, message);
    return *value;
  }

  // Text goes to `literal`; each {value} ends it and makes a part.
  void format_parts(size_t begin, size_t end, bool raw, std::string& literal, std::vector<Expr::FString::Part>& parts) {
    const std::string& source = source_->text;
    size_t start = begin;
    for (size_t i = begin; i < end;) {
      const char c = source[i];
      if (c == '\\' && !raw) {
        i += 2;
      } else if ((c == '{' || c == '}') && i + 1 < end && source[i + 1] == c) {
        literal += unescape(start, i + 1, raw);
        i += 2;
        start = i;
      } else if (c == '}') {
        syntax_error(Range{source_, i, i + 1}, "a single '}' in an f-string");
      } else if (c == '{') {
        literal += unescape(start, i, raw);
        i = start = format_value(i + 1, end, literal, parts);
      } else {
        ++i;
      }
    }
    literal += unescape(start, end, raw);
  }

  // Of "{value!r:spec}" from after the brace; gives the position after the closing one.
  size_t format_value(size_t begin, size_t end, std::string& literal, std::vector<Expr::FString::Part>& parts) {
    const std::string& source = source_->text;
    const size_t stop = end_of_value(begin, end);
    size_t i = stop;
    Expr::FString::Part part;
    size_t expression_end = stop;
    if (source[i] == '=' ) {
      literal += source.substr(begin, i + 1 - begin);
      ++i;
      part.conversion = 'r';
    }
    if (i < end && source[i] == '!') {
      part.conversion = i + 1 < end ? source[i + 1] : '\0';
      if (part.conversion != 'r' && part.conversion != 's' && part.conversion != 'a') {
        syntax_error(Range{source_, i, i + 1}, "an f-string's conversion is !r, !s or !a");
      }
      i += 2;
    }
    if (i < end && source[i] == ':') {
      const size_t close = source.find('}', i);
      if (close == std::string::npos || close >= end) syntax_error(Range{source_, begin - 1, begin}, "this '{' is never closed");
      part.spec = source.substr(i + 1, close - i - 1);
      if (part.spec.find('{') != std::string::npos) syntax_error(Range{source_, i, close}, "nested fields in a format are not part of TorchScript");
      i = close;
    }
    if (i >= end || source[i] != '}') syntax_error(Range{source_, begin - 1, begin}, "this '{' is never closed");
    if (source.find_first_not_of(" \t\n", begin) >= expression_end) syntax_error(Range{source_, begin - 1, i + 1}, "an f-string's field is empty");
    part.text = std::move(literal);
    literal.clear();
    const Nesting nesting(*this);
    Parser inner(source_, begin, expression_end, true, depth_);
    part.value = inner.only_expression();
    links_ = std::max(links_, inner.links_);
    parts.push_back(std::move(part));
    return i + 1;
  }

  // Where the value of a field ends: at a '}', '!', ':' or '=' that stands outside brackets and strings.
  size_t end_of_value(size_t begin, size_t end) const {
    const std::string& source = source_->text;
    int depth = 0;
    char quote = 0;
    for (size_t i = begin; i < end; ++i) {
      const char c = source[i];
      if (quote) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '(' || c == '[' || c == '{') {
        ++depth;
      } else if (depth > 0 && (c == ')' || c == ']' || c == '}')) {
        --depth;
      } else if (depth == 0 && (c == '}' || c == ':')) {
        return i;
      } else if (depth == 0 && (c == '!' || c == '=')) {
        const bool doubled = i + 1 < end && source[i + 1] == '=';
        const bool after = i > begin && (source[i - 1] == '=' || source[i - 1] == '<' || source[i - 1] == '>' || source[i - 1] == '!');
        if (!doubled && !after) return i;
        if (doubled) ++i;
      }
    }
    syntax_error(Range{source_, begin - 1, begin}, "this '{' is never closed");
  }

  SourcePtr source_;
  std::vector<Token> tokens_;
  size_t at_ = 0, last_ = 0;
  int depth_ = 0, links_ = 0;
};

Parser whole(const SourcePtr& source, bool is_expression = false) {
  constexpr size_t kMaxSource = size_t{16} << 20;
  WEFT_CHECK(source->text.size() <= kMaxSource, fmt::format("{}: source of {} bytes; the most is {}", source->file, source->text.size(), kMaxSource));
  return Parser(source, 0, source->text.size(), is_expression);
}

}  // namespace

Body parse_source(SourcePtr source) { return whole(source).file(); }
FunctionDef parse_function(SourcePtr source) { return whole(source).only_function(); }
ClassDef parse_class(SourcePtr source) { return whole(source).only_class(); }
ExprPtr parse_expression(SourcePtr source) { return whole(source, true).only_expression(); }

}  // namespace weft::jit
