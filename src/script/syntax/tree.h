// The syntax tree of TorchScript's subset of Python.
#pragma once

#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace weft::jit {

// A source text, kept for error messages. `first_line` and `indent` map positions back to the user's file
// when the text is a piece of it, dedented.
struct Source {
  std::string text;
  std::string file;  // "model.py", or "code/__torch__.py" of an archive
  int first_line = 1;
  int indent = 0;
};
using SourcePtr = std::shared_ptr<const Source>;

// Bytes [begin, end) of the source.
struct Range {
  SourcePtr source;
  size_t begin = 0, end = 0;
  int line() const;    // in the user's file, from 1
  int column() const;  // from 1
  // The message, then file:line:column, the line itself and a caret under the range.
  std::string highlight(const std::string& message) const;
};
// Throws ValueError-kind weft::Error with range.highlight(message).
[[noreturn]] void syntax_error(const Range& range, const std::string& message);
[[noreturn]] void type_error(const Range& range, const std::string& message);  // ErrorKind::Type

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

enum class BinaryOp {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  MatMul,
  BitAnd,
  BitOr,
  BitXor,
  ShiftLeft,
  ShiftRight
};
enum class UnaryOp { Neg, Pos, Not, Invert };
enum class CompareOp { Eq, Ne, Lt, Le, Gt, Ge, Is, IsNot, In, NotIn };

struct Keyword {
  std::string name;  // "" for **kwargs
  ExprPtr value;
  Range range;
};

// for target in iterable if conditions
struct Comprehension {
  ExprPtr target, iterable;
  std::vector<ExprPtr> conditions;
};

struct Expr {
  struct Name {
    std::string id;
  };
  struct Constant {
    std::variant<std::monostate, bool, int64_t, double, std::complex<double>, std::string> value;
  };  // monostate: None
  struct Ellipsis {};
  struct Attribute {
    ExprPtr object;
    std::string name;
  };
  struct Subscript {
    ExprPtr object;
    std::vector<ExprPtr> indices;
  };  // x[a, b] has two; x[(a, b)] one tuple
  struct Slice {
    ExprPtr start, stop, step;
  };  // null where absent
  struct Call {
    ExprPtr function;
    std::vector<ExprPtr> arguments;
    std::vector<Keyword> keywords;
  };
  struct Starred {
    ExprPtr value;
  };
  struct Unary {
    UnaryOp op;
    ExprPtr operand;
  };
  struct Binary {
    BinaryOp op;
    ExprPtr left, right;
  };
  struct BoolOp {
    bool is_and;
    ExprPtr left, right;
  };
  struct Compare {
    ExprPtr left;
    std::vector<std::pair<CompareOp, ExprPtr>> rest;
  };  // chained
  struct IfExpr {
    ExprPtr condition, then, otherwise;
  };
  struct List {
    std::vector<ExprPtr> elements;
  };
  struct Tuple {
    std::vector<ExprPtr> elements;
  };
  struct Dict {
    std::vector<std::pair<ExprPtr, ExprPtr>> items;
  };
  struct ListComp {
    ExprPtr element;
    Comprehension loop;
  };
  struct DictComp {
    ExprPtr key, value;
    Comprehension loop;
  };
  // f"…{value!r:spec}…": literal text and values in turn.
  struct FString {
    struct Part {
      std::string text;
      ExprPtr value;
      char conversion = 0;
      std::string spec;
    };
    std::vector<Part> parts;
  };

  using Node = std::variant<Name, Constant, Ellipsis, Attribute, Subscript, Slice, Call, Starred, Unary,
                            Binary, BoolOp, Compare, IfExpr, List, Tuple, Dict, ListComp, DictComp, FString>;
  Node node;
  Range range;

  template <class T>
  T* as() {
    return std::get_if<T>(&node);
  }
  template <class T>
  const T* as() const {
    return std::get_if<T>(&node);
  }
};

struct Parameter {
  enum class Kind { Positional, KeywordOnly, VarArgs, VarKeywords };
  std::string name;
  ExprPtr annotation;  // null: Tensor
  ExprPtr default_value;
  Kind kind = Kind::Positional;
  Range range;
};

struct FunctionDef {
  std::string name;
  std::vector<Parameter> parameters;
  ExprPtr returns;  // null: inferred
  Body body;
  std::vector<ExprPtr> decorators;
  std::string docstring;
  Range range;
};

struct ClassDef {
  std::string name;
  std::vector<ExprPtr> bases;  // Module, NamedTuple, Enum, Interface, ModuleInterface, or none
  Body body;                   // assignments, annotations, function definitions, pass
  std::vector<ExprPtr> decorators;
  std::string docstring;
  Range range;
};

struct WithItem {
  ExprPtr context, target;  // target may be null
};

struct Stmt {
  struct Expression {
    ExprPtr value;
  };
  struct Assign {
    std::vector<ExprPtr> targets;
    ExprPtr value;
    ExprPtr annotation;
  };  // a = b = value; value may be null with an annotation
  struct AugAssign {
    BinaryOp op;
    ExprPtr target, value;
  };
  struct Return {
    ExprPtr value;
  };
  struct Raise {
    ExprPtr exception, cause;
  };
  struct Assert {
    ExprPtr condition, message;
  };
  struct Delete {
    std::vector<ExprPtr> targets;
  };
  struct Pass {};
  struct Break {};
  struct Continue {};
  struct If {
    ExprPtr condition;
    Body then, otherwise;
  };
  struct While {
    ExprPtr condition;
    Body body;
  };
  struct For {
    ExprPtr target, iterable;
    Body body;
  };
  struct With {
    std::vector<WithItem> items;
    Body body;
  };
  struct Def {
    FunctionDef function;
  };  // only `def __forked_function(): …` of archives, and methods in classes
  struct Class {
    ClassDef definition;
  };
  struct Import {
    std::string text;
  };  // archives of old versions open with imports; ignored

  using Node = std::variant<Expression, Assign, AugAssign, Return, Raise, Assert, Delete, Pass, Break,
                            Continue, If, While, For, With, Def, Class, Import>;
  Node node;
  Range range;
  template <class T>
  T* as() {
    return std::get_if<T>(&node);
  }
  template <class T>
  const T* as() const {
    return std::get_if<T>(&node);
  }
};

}  // namespace weft::jit
