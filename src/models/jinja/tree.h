// What a template's text becomes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/jinja/value.h"

namespace weft::models::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more_positional, more_named;  // *list, **dict
};

enum class ExpressionKind : uint8_t {
  Constant,
  Name,
  Attribute,  // children[0].text
  Item,       // children[0][children[1]]
  Slice,      // children[0][children[1]:children[2]:children[3]]
  Call,       // children[0](arguments)
  Filter,     // children[0] | text(arguments); no child: what a block holds
  Test,       // children[0] is text(arguments)
  Tuple,
  List,
  Dict,         // keys and values in turn
  Conditional,  // children[1] if children[0] else children[2]
  And,
  Or,
  Not,
  Negative,
  Positive,
  Compare,  // children[0] with operators[i] and children[i + 1]
  Concatenate,
  Binary  // operators[0]
};

enum class Operator : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn
};

struct Expression {
  ExpressionKind kind = ExpressionKind::Constant;
  int line = 0, depth = 1;
  int name = -1;   // in the template's names
  Value constant;  // also Attribute's text
  std::string text;
  std::vector<ExpressionPtr> children;
  std::vector<Operator> operators;
  CallArguments arguments;
};

// Names, attributes of namespaces, and tuples of these.
struct Target {
  int name = -1;
  std::string attribute;  // of a namespace
  bool is_tuple = false;
  std::vector<Target> parts;
};

struct Statement;
using Statements = std::vector<std::unique_ptr<Statement>>;

struct Parameter {
  int name = -1;
  ExpressionPtr fallback;
};

struct MacroTree {
  std::string name;
  std::vector<Parameter> parameters;
  Statements body;
  bool uses_caller = false, uses_arguments = false, uses_keywords = false;
};

enum class StatementKind : uint8_t {
  Text,
  Output,
  If,  // branches; else_body
  For,
  Set,       // target = expression
  SetBlock,  // target = body, through filter `expression` where there is one
  Macro,
  CallBlock,  // expression is the call, macro its body
  FilterBlock,
  With,   // targets, expressions, body
  Scope,  // body
  Break,
  Continue
};

struct Statement {
  StatementKind kind = StatementKind::Text;
  int line = 0;
  std::string text;
  Target target;
  ExpressionPtr expression, condition;  // condition: of a for loop's elements
  std::vector<ExpressionPtr> expressions;
  std::vector<Target> targets;
  std::vector<std::pair<ExpressionPtr, Statements>> branches;
  Statements body, else_body;
  std::unique_ptr<MacroTree> macro;
  bool is_recursive = false;
};

// Names as numbers.
class Names {
 public:
  int number(std::string_view name) {
    const auto [place, is_new] = numbers_.try_emplace(std::string(name), static_cast<int>(names_.size()));
    if (is_new) names_.emplace_back(name);
    return place->second;
  }
  const std::string& name(int number) const { return names_[static_cast<size_t>(number)]; }
  // -1 where the template never says it.
  int find(const std::string& name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? -1 : found->second;
  }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, int> numbers_;
};

struct Tree {
  Heap constants{Limits{}};
  Names names;
  Statements body;
};

// ValueError, with the line, for what is no template.
std::unique_ptr<Tree> parse_template(std::string_view source);

}  // namespace weft::models::jinja
