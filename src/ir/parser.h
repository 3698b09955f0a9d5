// Recursive descent over the text that Graph::str() prints; the grammar stands at the head of printer.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ir/lexer.h"

namespace weft::ir {

class Parser {
 public:
  explicit Parser(std::string_view text);
  std::unique_ptr<Graph> run();

 private:
  // ---- tokens: comments are skipped, the last one of a line is kept for `location` ----
  const Token& peek() const { return token_; }
  Token take();
  bool accept(std::string_view symbol);
  bool accept_name(std::string_view name);
  void expect(std::string_view symbol);
  std::string expect_name(const std::string& what);
  int64_t expect_int();

  // ---- structure ----
  void parse_symbols();
  void parse_params(Block& block);
  void parse_statements(Block& block, std::string_view last);
  void parse_node(Block& block);
  void parse_region(Block& block, NodeKind kind);
  void parse_write_back();
  void parse_guard();
  void parse_data_table();
  void parse_returns(Block& block);
  SourceLocation parse_location(int line);
  void number_named_values();

  // ---- values ----
  struct Definition {
    Token token;
    TensorType type;
  };
  std::vector<Definition> parse_definitions();
  void define(const Token& token, Value* value);
  Value* parse_use();
  std::vector<Value*> parse_operands();
  Attrs parse_attrs(const OpDef& op);

  // ---- types and literals ----
  TensorType parse_type();
  Device parse_device();
  SymShape parse_shape();
  Sym parse_sum();
  Sym parse_product();
  Sym parse_atom();
  Sym symbol_named(const Token& token);
  ops::Attr parse_attr(ops::Param::Type type);
  Scalar parse_scalar();
  double parse_double();
  void parse_data(const Tensor& tensor);

  Lexer lexer_;
  Token token_;
  Token comment_;  // the last comment skipped
  int last_line_ = 1;
  std::unique_ptr<Graph> graph_;
  std::vector<SymGuard> guards_;
  std::unordered_map<std::string, Value*> values_;
  std::vector<std::string> scope_;  // names in order of definition, so that a block's end can drop its own
  std::vector<Value*> named_;
  std::unordered_map<std::string, Tensor> pending_data_;
  std::unordered_map<std::string, std::shared_ptr<const std::string>> files_;
};

}  // namespace weft::ir
