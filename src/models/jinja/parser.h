// Tokens to trees, as jinja2 3.1 parses them. source: jinja2, parser.py.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "models/jinja/lexer.h"
#include "models/jinja/tree.h"

namespace weft::models::jinja {

class TemplateParser {
 public:
  TemplateParser(std::vector<Token> tokens, Tree& tree) : tokens_(std::move(tokens)), tree_(tree) {}
  Statements parse();

 private:
  using Words = std::initializer_list<std::string_view>;
  // Tokens.
  const Token& now() const { return tokens_[position_]; }
  const Token& after() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  void skip() { position_ = std::min(position_ + 1, tokens_.size() - 1); }
  bool is_word(std::string_view word) const { return now().kind == TokenKind::Name && now().text == word; }
  bool is_one_of(Words words) const;
  bool is_symbol(std::string_view symbol) const {
    return now().kind == TokenKind::Operator && now().text == symbol;
  }
  bool skip_word(std::string_view word);
  bool skip_symbol(std::string_view symbol);
  void expect_symbol(std::string_view symbol);
  void expect_word(std::string_view word);
  std::string expect_name();
  [[noreturn]] void fail_here(const std::string& message) const;
  std::string shown(const Token& token) const;

  // Statements: parse_statements.cc.
  Statements parse_until(Words ends);
  Statements parse_body(Words ends);
  std::unique_ptr<Statement> parse_statement();
  std::unique_ptr<Statement> make_statement(StatementKind kind) const;
  std::unique_ptr<Statement> parse_if();
  std::unique_ptr<Statement> parse_for();
  std::unique_ptr<Statement> parse_set();
  std::unique_ptr<Statement> parse_with();
  std::unique_ptr<Statement> parse_macro();
  std::unique_ptr<Statement> parse_call_block();
  std::unique_ptr<Statement> parse_loop_control(StatementKind kind);
  void parse_parameters(MacroTree& macro);
  Target parse_target(bool with_namespace, bool before_in);
  Target parse_one_target(bool with_namespace);
  Statements parse_macro_body(MacroTree& macro, std::string_view end);

  // Expressions: parse_expressions.cc.
  ExpressionPtr parse_tuple(bool with_conditional, std::string_view end_word, bool in_parentheses);
  ExpressionPtr parse_expression(bool with_conditional = true);
  ExpressionPtr parse_conditional();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concatenation();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filter);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_postfix(ExpressionPtr of);
  ExpressionPtr parse_filters_and_tests(ExpressionPtr of);
  ExpressionPtr parse_filter(ExpressionPtr of);
  ExpressionPtr parse_test(ExpressionPtr of);
  ExpressionPtr parse_subscript(ExpressionPtr of);
  ExpressionPtr parse_call(ExpressionPtr of);
  void parse_arguments(Expression& call);
  ExpressionPtr make(ExpressionKind kind, int line) const;
  ExpressionPtr make(ExpressionKind kind, int line, ExpressionPtr first,
                     ExpressionPtr second = nullptr) const;
  ExpressionPtr checked(ExpressionPtr expression) const;  // not nested too deep
  ExpressionPtr number_constant();
  void note_name(std::string_view name);

  struct Nesting;
  std::vector<Token> tokens_;
  Tree& tree_;
  size_t position_ = 0;
  int depth_ = 0;                     // of recursive functions of the parser
  int conditional_ = 0;               // within branches, where unknown filters are errors of their execution
  std::vector<std::string> unknown_;  // filters and tests, elsewhere
  std::vector<MacroTree*> macros_;
};

// What recursion of the parser may take.
struct TemplateParser::Nesting {
  explicit Nesting(TemplateParser& of) : parser(of) {
    if (++parser.depth_ > kMost) parser.fail_here("the template is nested too deep");
  }
  ~Nesting() { --parser.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  static constexpr int kMost = 200;
  TemplateParser& parser;
};

}  // namespace weft::models::jinja
