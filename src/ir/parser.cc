#include "ir/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ir/text.h"

namespace weft::ir {

Parser::Parser(std::string_view text) : lexer_(text) { take(); }

Token Parser::take() {
  Token taken = std::move(token_);
  last_line_ = taken.line;
  for (token_ = lexer_.next(); token_.kind == TokenKind::Comment; token_ = lexer_.next()) comment_ = token_;
  return taken;
}

bool Parser::accept(std::string_view symbol) {
  if (!token_.is(symbol)) return false;
  take();
  return true;
}

bool Parser::accept_name(std::string_view name) {
  if (!token_.is_name(name)) return false;
  take();
  return true;
}

void Parser::expect(std::string_view symbol) {
  if (!accept(symbol)) syntax_error(token_, fmt::format("'{}'", symbol));
}

std::string Parser::expect_name(const std::string& what) {
  if (token_.kind != TokenKind::Name) syntax_error(token_, what);
  return take().text;
}

int64_t Parser::expect_int() {
  const bool negative = accept("-");
  int64_t value = 0;
  const std::string text = (negative ? "-" : "") + token_.text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (token_.kind != TokenKind::Number || error != std::errc{} || end != text.data() + text.size()) {
    syntax_error(token_, "an integer of 64 bits");
  }
  take();
  return value;
}

std::unique_ptr<Graph> Parser::run() {
  if (!accept_name("graph")) syntax_error(token_, "'graph'");
  graph_ = std::make_unique<Graph>(expect_name("the graph's name"));
  if (token_.is("[")) parse_symbols();
  parse_params(graph_->body());
  expect("{");
  parse_statements(graph_->body(), "return");
  expect("}");
  parse_data_table();
  for (const SymGuard& guard : guards_) graph_->env().add_guard(guard);
  number_named_values();
  return std::move(graph_);
}

void Parser::parse_symbols() {
  expect("[");
  do {
    const std::string expected = fmt::format("s{}", graph_->env().num_symbols());
    if (!accept_name(expected)) syntax_error(token_, fmt::format("the symbol {}", expected));
    expect("=");
    const int64_t hint = expect_int();
    if (accept_name("any")) {
      graph_->env().new_any_symbol(hint);
    } else {
      graph_->env().new_symbol(hint);
    }
  } while (accept(","));
  expect("]");
}

void Parser::parse_params(Block& block) {
  expect("(");
  while (!token_.is(")")) {
    if (token_.kind != TokenKind::Value) syntax_error(token_, "a parameter, as in '%x: f32[4]'");
    const Token name = take();
    expect(":");
    Value* param =
        graph_->add_param(block, Type{.kind = Type::Kind::Tensor, .tensor = parse_type(), .script = {}});
    if (accept("=")) {
      const Token symbol = take();
      param->symbol = symbol_named(symbol).node()->symbol;
    }
    define(name, param);
    if (!accept(",")) break;
  }
  expect(")");
}

void Parser::parse_statements(Block& block, std::string_view last) {
  while (true) {
    if (token_.is_name(last)) {
      take();
      parse_returns(block);
      return;
    }
    if (!block.owner && token_.is_name("guard")) {
      parse_guard();
    } else if (!block.owner && token_.is_name("write")) {
      parse_write_back();
    } else if (token_.kind == TokenKind::Value || token_.kind == TokenKind::Name) {
      parse_node(block);
    } else {
      syntax_error(token_, fmt::format("a node or '{}'", last));
    }
  }
}

void Parser::parse_returns(Block& block) {
  if (token_.kind != TokenKind::Value) return;
  do {
    graph_->add_return(block, parse_use());
  } while (accept(","));
}

void Parser::parse_guard() {
  take();
  const Sym a = parse_sum();
  constexpr std::string_view kRelations[] = {"==", "!=", "<", ">="};
  const auto* relation = std::find(std::begin(kRelations), std::end(kRelations), token_.text);
  if (relation == std::end(kRelations)) syntax_error(token_, "one of == != < >=");
  take();
  guards_.push_back({static_cast<SymRelation>(relation - std::begin(kRelations)), a, parse_sum()});
}

void Parser::parse_write_back() {
  take();
  const Token name = token_;
  const Value* input = parse_use();
  if (input->block != &graph_->body()) syntax_error(name, "an input of the graph");
  expect("=");
  graph_->add_write_back(input->index, parse_use());
}

std::vector<Parser::Definition> Parser::parse_definitions() {
  std::vector<Definition> definitions;
  if (token_.kind != TokenKind::Value) return definitions;
  do {
    if (token_.kind != TokenKind::Value) syntax_error(token_, "a result, as in '%2: f32[4]'");
    Token name = take();
    expect(":");
    definitions.push_back({std::move(name), parse_type()});
  } while (accept(","));
  expect("=");
  return definitions;
}

void Parser::define(const Token& token, Value* value) {
  if (!values_.emplace(token.text, value).second) syntax_error(token, "a name that is not defined yet");
  scope_.push_back(token.text);
  if (is_identifier(token.text)) {
    value->name = token.text;
    named_.push_back(value);
    return;
  }
  const auto [end, error] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value->id);
  if (error != std::errc{} || end != token.text.data() + token.text.size())
    syntax_error(token, "a name or a number after '%'");
}

// Values that go by name get numbers no printed value has.
void Parser::number_named_values() {
  int next = 0;
  for (const auto& value : graph_->values_) {
    if (value->name.empty()) next = std::max(next, value->id + 1);
  }
  for (Value* value : named_) value->id = next++;
  graph_->next_id_ = next;
}

Value* Parser::parse_use() {
  if (token_.kind != TokenKind::Value) syntax_error(token_, "a value, as in '%2'");
  const auto found = values_.find(token_.text);
  if (found == values_.end()) syntax_error(token_, "a value that is defined above");
  take();
  return found->second;
}

std::vector<Value*> Parser::parse_operands() {
  std::vector<Value*> operands;
  expect("(");
  while (!token_.is(")")) {
    operands.push_back(accept_name("none") ? nullptr : parse_use());
    if (!accept(",")) break;
  }
  expect(")");
  return operands;
}

SourceLocation Parser::parse_location(int line) {
  SourceLocation location;
  const size_t colon = comment_.text.rfind(':');
  if (comment_.kind != TokenKind::Comment || comment_.line != line || colon == std::string::npos)
    return location;
  const std::string digits = comment_.text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), location.line);
  if (error != std::errc{} || end != digits.data() + digits.size()) return {};
  auto& file = files_[comment_.text.substr(0, colon)];
  if (!file) file = std::make_shared<const std::string>(comment_.text.substr(0, colon));
  location.file = file;
  return location;
}

void Parser::parse_node(Block& block) {
  const std::vector<Definition> definitions = parse_definitions();
  const Token name = token_;
  expect_name("an operator's name");
  Node* node = nullptr;
  if (name.text == "constant") {
    if (definitions.size() != 1) syntax_error(name, "one result before 'constant'");
    const TensorType& type = definitions[0].type;
    Shape shape;
    for (const Sym& size : type.shape) shape.push_back(size.constant());
    const Tensor tensor = Tensor::empty(shape, type.dtype, type.device);
    expect("{");
    if (token_.is_name("large"))
      syntax_error(token_, "data: the array was too large to print, so the text cannot be parsed");
    if (token_.kind == TokenKind::Name && token_.text.starts_with("data")) {
      pending_data_[take().text] = tensor;
    } else {
      parse_data(tensor);
    }
    expect("}");
    node = graph_->add_constant(block, tensor);
    define(definitions[0].token, node->output());
    node->location = parse_location(last_line_);
    return;
  }
  std::vector<TensorType> types;
  for (const Definition& definition : definitions) types.push_back(definition.type);
  if (name.text == "if" || name.text == "loop") {
    const NodeKind kind = name.text == "if" ? NodeKind::If : NodeKind::Loop;
    node = graph_->add_control(block, kind, parse_operands());
    for (size_t i = 0; i < node->blocks.size(); ++i) {
      if (i > 0 && !accept_name("else")) syntax_error(token_, "'else'");
      parse_region(*node->blocks[i], kind);
    }
    for (TensorType& type : types) {
      graph_->add_output(node, Type{.kind = Type::Kind::Tensor, .tensor = std::move(type), .script = {}});
    }
  } else {
    const OpDef* op = ops::find_op(name.text);
    if (!op) syntax_error(name, "the name of an operator");
    std::vector<Value*> operands = parse_operands();
    Attrs attrs = parse_attrs(*op);
    node = graph_->add_typed_node(block, *op, std::move(operands), std::move(attrs), std::move(types));
    node->location = parse_location(last_line_);
  }
  for (size_t i = 0; i < definitions.size(); ++i) define(definitions[i].token, node->outputs[i]);
}

// What a region defines is dropped from the names at its end.
void Parser::parse_region(Block& block, NodeKind kind) {
  const size_t outer = scope_.size();
  if (kind == NodeKind::Loop) parse_params(block);
  expect("{");
  if (&block == block.owner->blocks[0].get()) block.owner->location = parse_location(last_line_);
  parse_statements(block, "yield");
  expect("}");
  for (; scope_.size() > outer; scope_.pop_back()) values_.erase(scope_.back());
}

Attrs Parser::parse_attrs(const OpDef& op) {
  Attrs attrs;
  if (!accept("{")) return attrs;
  while (!token_.is("}")) {
    const Token name = token_;
    expect_name("an attribute's name");
    expect("=");
    const auto* annotation = std::find(std::begin(kAnnotations), std::end(kAnnotations), name.text);
    if (const ops::Param* param = op.find_param(name.text)) {
      attrs.set(param->name, parse_attr(param->type));
    } else if (annotation != std::end(kAnnotations)) {
      attrs.set(*annotation,
                parse_attr(*annotation == kOwnMemory ? ops::Param::Type::Bool : ops::Param::Type::String));
    } else {
      syntax_error(name, fmt::format("an attribute of '{}'", op.name));
    }
    if (!accept(",")) break;
  }
  expect("}");
  return attrs;
}

void Parser::parse_data_table() {
  while (token_.kind != TokenKind::End) {
    const Token label = token_;
    const auto found = pending_data_.find(label.text);
    if (found == pending_data_.end()) syntax_error(label, "the data of a constant, or the end of the text");
    take();
    expect(":");
    const TensorType type = parse_type();
    const Tensor& tensor = found->second;
    bool same = type.dtype == tensor.dtype() && type.shape.size() == tensor.shape().size();
    for (size_t d = 0; same && d < type.shape.size(); ++d) same = type.shape[d].hint() == tensor.shape()[d];
    if (!same) syntax_error(label, fmt::format("data of type {}", describe(tensor)));
    expect("=");
    parse_data(tensor);
    pending_data_.erase(found);
  }
  if (!pending_data_.empty())
    syntax_error(token_, fmt::format("the data of '{}'", pending_data_.begin()->first));
}

std::unique_ptr<Graph> parse_graph(std::string_view text) { return Parser(text).run(); }

}  // namespace weft::ir
