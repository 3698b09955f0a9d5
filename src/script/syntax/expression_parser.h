// Expressions: what statements are made of. See script/syntax/parser.h for what is refused.
#pragma once

#include <optional>

#include "script/syntax/parser.h"
#include "script/syntax/token_cursor.h"

namespace weft::jit {

class ExpressionParser : protected TokenCursor {
 public:
  // Bytes [begin, end) of the source; `depth`: of the nesting that they stand in.
  ExpressionParser(SourcePtr source, size_t begin, size_t end, bool is_expression, int depth = 0)
      : TokenCursor(source, tokenize(source, begin, end, is_expression)), depth_(depth) {}

  ExprPtr only_expression();
  // "(int, Tensor) -> int", as a comment gives a function's types.
  std::pair<std::vector<ExprPtr>, ExprPtr> signature();

 protected:
  // Counts nesting, so that hostile input cannot exhaust the stack.
  struct Nesting {
    ExpressionParser& parser;
    explicit Nesting(ExpressionParser& p) : parser(p) {
      if (++parser.depth_ > kMaxDepth) parser.fail(fmt::format("nesting deeper than {} levels", kMaxDepth));
    }
    ~Nesting() { --parser.depth_; }
  };

  // "a + b + c", "a.b(c).d": a tree that is deep on its left. Counts how deep the expressions parsed since
  // its start are, chains inside one another included.
  struct Chain {
    ExpressionParser& parser;
    int outer;
    explicit Chain(ExpressionParser& p) : parser(p), outer(std::exchange(p.links_, 0)) {}
    ~Chain() { parser.links_ = std::max(outer, parser.links_); }
    void grow() const {
      if (++parser.links_ > kMaxChain)
        parser.fail(fmt::format("more than {} operators, calls and attributes in a row", kMaxChain));
    }
  };

  template <class T>
  static ExprPtr make(T node, Range range) {
    auto result = std::make_unique<Expr>();
    result->node = std::move(node);
    result->range = std::move(range);
    return result;
  }

  // "a, b" is a tuple.
  ExprPtr expression_list();
  ExprPtr expression();
  ExprPtr primary();
  // What may stand after "for": names, attributes, subscripts and tuples of them, but no "in".
  ExprPtr target_list();
  void check_target(const Expr& target, bool may_unpack) const;

  int depth_ = 0;

 private:
  bool ends_list() const;
  ExprPtr star_expression();
  ExprPtr disjunction();
  template <class F>
  ExprPtr bool_op(std::string_view word, bool is_and, F operand);
  ExprPtr negation();
  std::optional<CompareOp> compare_op();
  ExprPtr comparison();
  ExprPtr binary(int level);
  ExprPtr unary();
  ExprPtr power();
  ExprPtr call(ExprPtr callee, size_t begin);
  ExprPtr slice();
  ExprPtr as_index(ExprPtr index);
  ExprPtr atom();
  ExprPtr name();
  ExprPtr parenthesized();
  Comprehension comprehension();
  ExprPtr list();
  ExprPtr dict();
  Expr::Constant number() const;
  // Adjacent strings are one; with an f among them, they are one f-string.
  ExprPtr string();
  std::string unescape(size_t begin, size_t end, bool raw) const;
  // Text goes to `literal`; each {value} ends it and makes a part.
  void format_parts(size_t begin, size_t end, bool raw, std::string& literal,
                    std::vector<Expr::FString::Part>& parts);
  // Of "{value!r:spec}" from after the brace; gives the position after the closing one.
  size_t format_value(size_t begin, size_t end, std::string& literal,
                      std::vector<Expr::FString::Part>& parts);
  // Where the value of a field ends: at a '}', '!', ':' or '=' that stands outside brackets and strings.
  size_t end_of_value(size_t begin, size_t end) const;

  int links_ = 0;  // of the longest chain so far
};

}  // namespace weft::jit
