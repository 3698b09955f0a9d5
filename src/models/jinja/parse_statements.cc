#include <fmt/format.h>

#include <algorithm>

#include "models/jinja/parser.h"
#include "weft/error.h"
#include "weft/models/tokenizer.h"

namespace weft::models::jinja {

bool TemplateParser::is_one_of(Words words) const {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return is_word(word); });
}

bool TemplateParser::skip_word(std::string_view word) {
  if (!is_word(word)) return false;
  skip();
  return true;
}

bool TemplateParser::skip_symbol(std::string_view symbol) {
  if (!is_symbol(symbol)) return false;
  skip();
  return true;
}

std::string TemplateParser::shown(const Token& token) const {
  switch (token.kind) {
    case TokenKind::Data: return "template data / text";
    case TokenKind::VariableBegin: return "begin of print statement";
    case TokenKind::VariableEnd: return "end of print statement";
    case TokenKind::BlockBegin: return "begin of statement block";
    case TokenKind::BlockEnd: return "end of statement block";
    case TokenKind::End: return "end of template";
    default: return token.text;
  }
}

void TemplateParser::fail_here(const std::string& message) const { fail_syntax(now().line, message); }

void TemplateParser::expect_symbol(std::string_view symbol) {
  if (!skip_symbol(symbol))
    fail_here(fmt::format("expected token '{}', got {}", symbol, repr_of_text(shown(now()))));
}
void TemplateParser::expect_word(std::string_view word) {
  if (!skip_word(word))
    fail_here(fmt::format("expected token '{}', got {}", word, repr_of_text(shown(now()))));
}
std::string TemplateParser::expect_name() {
  if (now().kind != TokenKind::Name)
    fail_here(fmt::format("expected token 'name', got {}", repr_of_text(shown(now()))));
  std::string name = now().text;
  skip();
  return name;
}

Statements TemplateParser::parse() {
  Statements body = parse_until({});
  if (now().kind != TokenKind::End) fail_here("unexpected token");
  if (!unknown_.empty()) fail("TemplateAssertionError", unknown_[0]);
  return body;
}

std::unique_ptr<Statement> TemplateParser::make_statement(StatementKind kind) const {
  auto statement = std::make_unique<Statement>();
  statement->kind = kind;
  statement->line = now().line;
  return statement;
}

// Up to a tag with one of the words, which is left as the next token.
Statements TemplateParser::parse_until(Words ends) {
  const Nesting nesting(*this);
  Statements body;
  while (now().kind != TokenKind::End) {
    if (now().kind == TokenKind::Data) {
      auto text = make_statement(StatementKind::Text);
      text->text = now().text;
      skip();
      body.push_back(std::move(text));
    } else if (now().kind == TokenKind::VariableBegin) {
      skip();
      auto output = make_statement(StatementKind::Output);
      output->expression = parse_tuple(true, "", false);
      if (now().kind != TokenKind::VariableEnd)
        fail_here(fmt::format("expected token 'end of print statement', got {}", repr_of_text(shown(now()))));
      skip();
      body.push_back(std::move(output));
    } else {
      skip();
      if (is_one_of(ends)) return body;
      if (auto statement = parse_statement()) body.push_back(std::move(statement));
      if (now().kind != TokenKind::BlockEnd)
        fail_here(fmt::format("expected token 'end of statement block', got {}", repr_of_text(shown(now()))));
      skip();
    }
  }
  if (ends.size() > 0)
    fail_here(fmt::format("Unexpected end of template. Jinja was looking for the tag '{}'", *ends.begin()));
  return body;
}

Statements TemplateParser::parse_body(Words ends) {
  skip_symbol(":");
  if (now().kind != TokenKind::BlockEnd)
    fail_here(fmt::format("expected token 'end of statement block', got {}", repr_of_text(shown(now()))));
  skip();
  return parse_until(ends);
}

std::unique_ptr<Statement> TemplateParser::parse_statement() {
  if (now().kind != TokenKind::Name) fail_here("tag name expected");
  const std::string tag = now().text;
  if (tag == "if") return parse_if();
  if (tag == "for") return parse_for();
  if (tag == "set") return parse_set();
  if (tag == "with") return parse_with();
  if (tag == "macro") return parse_macro();
  if (tag == "call") return parse_call_block();
  if (tag == "break") return parse_loop_control(StatementKind::Break);
  if (tag == "continue") return parse_loop_control(StatementKind::Continue);
  if (tag == "filter") {
    auto statement = make_statement(StatementKind::FilterBlock);
    skip();
    statement->expression = parse_filter(nullptr);
    statement->body = parse_body({"endfilter"});
    skip();
    return statement;
  }
  // What it holds is a scope of its own. (transformers notes where it stands, for training.)
  if (tag == "generation") {
    auto statement = make_statement(StatementKind::Scope);
    skip();
    statement->body = parse_body({"endgeneration"});
    skip();
    return statement;
  }
  if (tag == "block") {
    auto statement = make_statement(StatementKind::Scope);
    skip();
    const std::string name = expect_name();
    statement->body = parse_body({"endblock"});
    skip();
    skip_word(name);
    return statement;
  }
  if (tag == "print") {
    auto statement = make_statement(StatementKind::Output);
    skip();
    statement->expression = parse_expression();
    return statement;
  }
  for (const char* other : {"extends", "include", "import", "from", "autoescape"})
    if (tag == other)
      fail_here(fmt::format("the tag '{}' is not supported: a chat template is one text", tag));
  fail_here(fmt::format("Encountered unknown tag '{}'.", tag));
}

std::unique_ptr<Statement> TemplateParser::parse_if() {
  auto statement = make_statement(StatementKind::If);
  ++conditional_;
  do {
    skip();  // if, elif
    ExpressionPtr condition = parse_tuple(false, "", false);
    Statements body = parse_body({"elif", "else", "endif"});
    statement->branches.emplace_back(std::move(condition), std::move(body));
  } while (is_word("elif"));
  if (skip_word("else")) statement->else_body = parse_body({"endif"});
  --conditional_;
  skip();
  return statement;
}

std::unique_ptr<Statement> TemplateParser::parse_for() {
  auto statement = make_statement(StatementKind::For);
  skip();
  statement->target = parse_target(false, true);
  expect_word("in");
  statement->expression = parse_tuple(false, "recursive", false);
  if (skip_word("if")) statement->condition = parse_expression();
  statement->is_recursive = skip_word("recursive");
  statement->body = parse_body({"endfor", "else"});
  if (skip_word("else")) statement->else_body = parse_body({"endfor"});
  skip();
  return statement;
}

std::unique_ptr<Statement> TemplateParser::parse_set() {
  auto statement = make_statement(StatementKind::Set);
  skip();
  statement->target = parse_target(true, false);
  if (skip_symbol("=")) {
    statement->expression = parse_tuple(true, "", false);
    return statement;
  }
  statement->kind = StatementKind::SetBlock;
  if (is_symbol("|")) {
    skip();
    statement->expression = parse_filter(nullptr);
  }
  statement->body = parse_body({"endset"});
  skip();
  return statement;
}

std::unique_ptr<Statement> TemplateParser::parse_with() {
  auto statement = make_statement(StatementKind::With);
  skip();
  while (now().kind != TokenKind::BlockEnd) {
    if (!statement->targets.empty()) expect_symbol(",");
    statement->targets.push_back(parse_target(false, false));
    expect_symbol("=");
    statement->expressions.push_back(parse_expression());
  }
  statement->body = parse_body({"endwith"});
  skip();
  return statement;
}

std::unique_ptr<Statement> TemplateParser::parse_macro() {
  auto statement = make_statement(StatementKind::Macro);
  skip();
  statement->macro = std::make_unique<MacroTree>();
  statement->macro->name = expect_name();
  statement->target.name = tree_.names.number(statement->macro->name);
  parse_parameters(*statement->macro);
  statement->macro->body = parse_macro_body(*statement->macro, "endmacro");
  return statement;
}

std::unique_ptr<Statement> TemplateParser::parse_call_block() {
  auto statement = make_statement(StatementKind::CallBlock);
  skip();
  statement->macro = std::make_unique<MacroTree>();
  statement->macro->name = "caller";
  if (is_symbol("(")) parse_parameters(*statement->macro);
  statement->expression = parse_expression();
  if (statement->expression->kind != ExpressionKind::Call) fail_here("expected call");
  statement->macro->body = parse_macro_body(*statement->macro, "endcall");
  return statement;
}

Statements TemplateParser::parse_macro_body(MacroTree& macro, std::string_view end) {
  macros_.push_back(&macro);
  Statements body = parse_body({end});
  macros_.pop_back();
  skip();
  return body;
}

std::unique_ptr<Statement> TemplateParser::parse_loop_control(StatementKind kind) {
  auto statement = make_statement(kind);
  skip();
  return statement;
}

void TemplateParser::parse_parameters(MacroTree& macro) {
  expect_symbol("(");
  while (!is_symbol(")")) {
    if (!macro.parameters.empty()) expect_symbol(",");
    Parameter parameter{.name = tree_.names.number(expect_name()), .fallback = nullptr};
    if (skip_symbol("="))
      parameter.fallback = parse_expression();
    else if (!macro.parameters.empty() && macro.parameters.back().fallback != nullptr)
      fail_here("non-default argument follows default argument");
    macro.parameters.push_back(std::move(parameter));
  }
  skip();
}

// Names and tuples of names.
Target TemplateParser::parse_target(bool with_namespace, bool before_in) {
  const Nesting nesting(*this);
  Target tuple;
  tuple.is_tuple = true;
  bool is_tuple = false;
  while (true) {
    if (now().kind == TokenKind::BlockEnd || is_symbol(")") || is_symbol("=") || (before_in && is_word("in")))
      break;
    tuple.parts.push_back(parse_one_target(with_namespace));
    if (!skip_symbol(",")) break;
    is_tuple = true;
  }
  if (tuple.parts.empty())
    fail_here(fmt::format("Expected an expression, got {}", repr_of_text(shown(now()))));
  return is_tuple ? std::move(tuple) : std::move(tuple.parts[0]);
}

Target TemplateParser::parse_one_target(bool with_namespace) {
  if (skip_symbol("(")) {
    Target inner = parse_target(with_namespace, false);
    expect_symbol(")");
    return inner;
  }
  if (now().kind != TokenKind::Name) fail_here(fmt::format("can't assign to {}", repr_of_text(shown(now()))));
  for (const char* constant : {"true", "false", "none", "True", "False", "None"})
    if (is_word(constant)) fail_here("can't assign to 'const'");
  Target target;
  target.name = tree_.names.number(expect_name());
  if (with_namespace && skip_symbol(".")) target.attribute = expect_name();
  return target;
}

std::unique_ptr<Tree> parse_template(std::string_view source) {
  constexpr size_t kMostBytes = 1 << 20;
  if (source.size() > kMostBytes) fail("TemplateError", "the template has more than 1 MiB");
  if (!is_utf8(source)) fail("TemplateError", "the template is not valid UTF-8");
  auto tree = std::make_unique<Tree>();
  tree->body = TemplateParser(tokenize(source), *tree).parse();
  return tree;
}

}  // namespace weft::models::jinja
