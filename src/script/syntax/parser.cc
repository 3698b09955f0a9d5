// Statements and definitions; expressions are in parse_expressions.cc and parse_strings.cc.
#include "script/syntax/parser.h"

#include <fmt/format.h>

#include "script/syntax/expression_parser.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

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

 private:
  template <class T>
  static StmtPtr make_stmt(T node, Range range) {
    auto result = std::make_unique<Stmt>();
    result->node = std::move(node);
    result->range = std::move(range);
    return result;
  }

  // ---- statements
  // ------------------------------------------------------------------------------------------
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
      body.push_back(
          make_stmt(Stmt::For{std::move(target), std::move(iterable), std::move(inner)}, since_line(begin)));
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
    return make_stmt(Stmt::If{std::move(condition), std::move(then), std::move(otherwise)},
                     since_line(begin));
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
      if (word == "global" || word == "nonlocal" || word == "yield" || word == "await")
        absent(fmt::format("{} is", word));
    }
    return assignment();
  }

  StmtPtr assignment() {
    const size_t begin = token().begin;
    ExprPtr first = expression_list();
    static constexpr std::pair<std::string_view, BinaryOp> kAugmented[] = {
        {"+=", BinaryOp::Add},        {"-=", BinaryOp::Sub},       {"*=", BinaryOp::Mul},
        {"/=", BinaryOp::Div},        {"//=", BinaryOp::FloorDiv}, {"%=", BinaryOp::Mod},
        {"**=", BinaryOp::Pow},       {"@=", BinaryOp::MatMul},    {"&=", BinaryOp::BitAnd},
        {"|=", BinaryOp::BitOr},      {"^=", BinaryOp::BitXor},    {"<<=", BinaryOp::ShiftLeft},
        {">>=", BinaryOp::ShiftRight}};
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

  ExprPtr type_comment(const Token& t) {
    return Parser(source_, t.comment_begin, t.comment_end, true, depth_).only_expression();
  }

  // ---- definitions
  // -----------------------------------------------------------------------------------------
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
    if (is(":") && token().comment_end)
      comment = at_;
    else if (is(":") && at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == TokenKind::Newline &&
             tokens_[at_ + 1].comment_end)
      comment = at_ + 1;
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
      if (!parameter.annotation && last.comment_end && source_->text[last.comment_begin] != '(')
        parameter.annotation = type_comment(last);
      function.parameters.push_back(std::move(parameter));
    }
  }

  void comment_signature(FunctionDef& function, const Token& t) {
    if (source_->text[t.comment_begin] != '(') return;
    auto [types, returns] =
        ExpressionParser(source_, t.comment_begin, t.comment_end, true, depth_).signature();
    const size_t given = types.size(), wanted = function.parameters.size();
    if (given != wanted && given + 1 != wanted) {
      syntax_error(Range{source_, t.comment_begin, t.comment_end},
                   fmt::format("the type comment has {} types for {} parameters", given, wanted));
    }
    for (size_t i = 0; i < given; ++i)
      function.parameters[wanted - given + i].annotation = std::move(types[i]);
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
};

Parser whole(const SourcePtr& source, bool is_expression = false) {
  constexpr size_t kMaxSource = size_t{16} << 20;
  WEFT_CHECK(source->text.size() <= kMaxSource, fmt::format("{}: source of {} bytes; the most is {}",
                                                            source->file, source->text.size(), kMaxSource));
  return Parser(source, 0, source->text.size(), is_expression);
}

}  // namespace

Body parse_source(SourcePtr source) { return whole(source).file(); }
FunctionDef parse_function(SourcePtr source) { return whole(source).only_function(); }
ClassDef parse_class(SourcePtr source) { return whole(source).only_class(); }
ExprPtr parse_expression(SourcePtr source) { return whole(source, true).only_expression(); }

}  // namespace weft::jit
