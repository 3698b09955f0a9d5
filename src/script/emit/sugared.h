// What a name or an expression can stand for while TorchScript is compiled. Most are values of the graph;
// modules' methods, classes, namespaces, ranges and the like exist only in the compiler.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "script/emit/upgraders.h"
#include "script/syntax/tree.h"
#include "weft/jit/module.h"

namespace weft::jit {

class Emitter;
class SugaredValue;
using SugaredPtr = std::shared_ptr<SugaredValue>;

// An argument of a call: positional when `name` is empty.
struct CallArgument {
  std::string name;
  ir::Value* value = nullptr;
  Range range;
};
using CallArguments = std::vector<CallArgument>;

// How a loop runs over a value: element by element when they are all known now, or by a count and a function
// of the counter.
struct Iteration {
  std::optional<std::vector<SugaredPtr>> unrolled;
  ir::Value* length = nullptr;
  std::function<SugaredPtr(ir::Value* index)> element;
};

class SugaredValue : public std::enable_shared_from_this<SugaredValue> {
 public:
  virtual ~SugaredValue() = default;
  // For messages: "module", "function 'f'".
  virtual std::string kind() const = 0;
  // The rest raise "… cannot be used as a value", "… is not callable", … unless overridden.
  virtual ir::Value* as_value(Emitter& emitter, const Range& range);
  virtual SugaredPtr attribute(Emitter& emitter, const Range& range, const std::string& name);
  virtual bool has_attribute(Emitter&, const std::string&) { return false; }
  // As an argument's default, where there is no graph; null where it has no such constant.
  virtual SugaredPtr constant_attribute(const Range&, const std::string&) { return nullptr; }
  virtual void set_attribute(Emitter& emitter, const Range& range, const std::string& name, ir::Value* value);
  // Calls whose arguments are not ordinary expressions (types, closures, ranges) override this one.
  virtual SugaredPtr call_expr(Emitter& emitter, const Range& range, const Expr::Call& call,
                               const TypePtr& hint);
  virtual SugaredPtr call(Emitter& emitter, const Range& range, const CallArguments& arguments);
  virtual SugaredPtr subscript(Emitter& emitter, const Range& range, ir::Value* index);
  virtual std::vector<SugaredPtr> as_tuple(Emitter& emitter, const Range& range, std::optional<size_t> size);
  virtual Iteration iterate(Emitter& emitter, const Range& range);
  // The value of the graph this is, if it is one.
  virtual ir::Value* value() const { return nullptr; }
};

// A value of the graph.
class SimpleValue final : public SugaredValue {
 public:
  explicit SimpleValue(ir::Value* value) : value_(value) {}
  std::string kind() const override;
  ir::Value* as_value(Emitter&, const Range&) override { return value_; }
  SugaredPtr attribute(Emitter& emitter, const Range& range, const std::string& name) override;
  bool has_attribute(Emitter& emitter, const std::string& name) override;
  void set_attribute(Emitter& emitter, const Range& range, const std::string& name,
                     ir::Value* value) override;
  SugaredPtr call(Emitter& emitter, const Range& range, const CallArguments& arguments) override;
  SugaredPtr subscript(Emitter& emitter, const Range& range, ir::Value* index) override;
  std::vector<SugaredPtr> as_tuple(Emitter& emitter, const Range& range, std::optional<size_t> size) override;
  Iteration iterate(Emitter& emitter, const Range& range) override;
  ir::Value* value() const override { return value_; }

 private:
  SugaredPtr find_attribute(Emitter& emitter, const Range& range, const std::string& name);
  SugaredPtr object_attribute(Emitter& emitter, const Range& range, const std::string& name);
  ir::Value* value_;
};

// A name that means nothing here, and why: used only if the program reads it.
class UndefinedValue final : public SugaredValue {
 public:
  explicit UndefinedValue(std::string reason) : reason_(std::move(reason)) {}
  std::string kind() const override { return "undefined name"; }
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

// A compiled function; with several, the first whose signature fits.
class FunctionSugar final : public SugaredValue {
 public:
  explicit FunctionSugar(std::vector<std::shared_ptr<Function>> overloads)
      : overloads_(std::move(overloads)) {}
  std::string kind() const override;
  ir::Value* as_value(Emitter& emitter, const Range& range) override;
  SugaredPtr call(Emitter& emitter, const Range& range, const CallArguments& arguments) override;
  const std::vector<std::shared_ptr<Function>>& overloads() const { return overloads_; }

 private:
  std::vector<std::shared_ptr<Function>> overloads_;
};

// object.method, of a class or an interface.
class MethodSugar final : public SugaredValue {
 public:
  MethodSugar(ir::Value* object, std::string name) : object_(object), name_(std::move(name)) {}
  std::string kind() const override { return "method '" + name_ + "'"; }
  SugaredPtr call(Emitter& emitter, const Range& range, const CallArguments& arguments) override;
  ir::Value* object() const { return object_; }
  const std::string& name() const { return name_; }

 private:
  ir::Value* object_;
  std::string name_;
};

// A builtin operator by name, all its overloads; `self` for the method spelling.
class BuiltinSugar final : public SugaredValue {
 public:
  explicit BuiltinSugar(std::string name, ir::Value* self = nullptr) : name_(std::move(name)), self_(self) {}
  std::string kind() const override { return "builtin '" + name_ + "'"; }
  SugaredPtr call(Emitter& emitter, const Range& range, const CallArguments& arguments) override;
  SugaredPtr call_expr(Emitter& emitter, const Range& range, const Expr::Call& call,
                       const TypePtr& hint) override;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  ir::Value* self_;
};

// A constant of the program, made a value where it is read.
class ConstantSugar final : public SugaredValue {
 public:
  ConstantSugar(IValue constant, TypePtr type) : constant_(std::move(constant)), type_(std::move(type)) {}
  explicit ConstantSugar(IValue constant);
  std::string kind() const override { return "constant"; }
  ir::Value* as_value(Emitter& emitter, const Range& range) override;
  SugaredPtr attribute(Emitter& emitter, const Range& range, const std::string& name) override;
  SugaredPtr subscript(Emitter& emitter, const Range& range, ir::Value* index) override;
  std::vector<SugaredPtr> as_tuple(Emitter& emitter, const Range& range, std::optional<size_t> size) override;
  Iteration iterate(Emitter& emitter, const Range& range) override;
  const IValue& constant() const { return constant_; }

 private:
  IValue constant_;
  TypePtr type_;
};

// Several values that need not be values of the graph: results of an operator, submodules, (index, module).
class TupleSugar final : public SugaredValue {
 public:
  explicit TupleSugar(std::vector<SugaredPtr> elements) : elements_(std::move(elements)) {}
  std::string kind() const override { return "tuple"; }
  ir::Value* as_value(Emitter& emitter, const Range& range) override;
  SugaredPtr attribute(Emitter& emitter, const Range& range, const std::string& name) override;
  SugaredPtr subscript(Emitter& emitter, const Range& range, ir::Value* index) override;
  std::vector<SugaredPtr> as_tuple(Emitter&, const Range&, std::optional<size_t>) override {
    return elements_;
  }
  Iteration iterate(Emitter&, const Range&) override {
    return {.unrolled = elements_, .length = nullptr, .element = {}};
  }
  const std::vector<SugaredPtr>& elements() const { return elements_; }

 private:
  std::vector<SugaredPtr> elements_;
};

// range(…), enumerate(…), zip(…), reversed module lists: only to be looped over (range also to be listed).
class IterationSugar final : public SugaredValue {
 public:
  IterationSugar(std::string kind, Iteration iteration)
      : kind_(std::move(kind)), iteration_(std::move(iteration)) {}
  std::string kind() const override { return kind_; }
  Iteration iterate(Emitter&, const Range&) override { return iteration_; }

 private:
  std::string kind_;
  Iteration iteration_;
};

// A class of the user's, a NamedTuple, an enumeration or an interface, by its type.
class ClassSugar final : public SugaredValue {
 public:
  explicit ClassSugar(TypePtr type) : type_(std::move(type)) {}
  std::string kind() const override { return "class '" + type_->name() + "'"; }
  SugaredPtr call(Emitter& emitter, const Range& range, const CallArguments& arguments) override;
  SugaredPtr attribute(Emitter& emitter, const Range& range, const std::string& name) override;
  Iteration iterate(Emitter& emitter, const Range& range) override;  // of an enumeration
  const TypePtr& type() const { return type_; }
  // A member of an enumeration, a constant of a class; null where there is none.
  SugaredPtr constant_member(const std::string& name) const;

 private:
  SugaredPtr construct_named_tuple(Emitter& emitter, const Range& range, const CallArguments& arguments);
  TypePtr type_;
};

// "torch", "torch.nn.functional", "ops.prim", "math": names whose members are builtins under `prefix`
// ("aten::").
class NamespaceSugar final : public SugaredValue {
 public:
  explicit NamespaceSugar(std::string path) : path_(std::move(path)) {}
  std::string kind() const override { return "module '" + path_ + "'"; }
  SugaredPtr attribute(Emitter& emitter, const Range& range, const std::string& name) override;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Something the compiler does by itself: annotate, isinstance, range, fork, int, …
class SpecialForm final : public SugaredValue {
 public:
  using Emit = SugaredPtr (*)(Emitter&, const Range&, const Expr::Call&, const TypePtr& hint);
  SpecialForm(std::string name, Emit emit) : name_(std::move(name)), emit_(emit) {}
  std::string kind() const override { return "'" + name_ + "'"; }
  SugaredPtr call_expr(Emitter& emitter, const Range& range, const Expr::Call& call,
                       const TypePtr& hint) override {
    return emit_(emitter, range, call, hint);
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  Emit emit_;
};

// A function defined inside another: it sees the names around it. Called in place, or forked.
class ClosureSugar final : public SugaredValue {
 public:
  explicit ClosureSugar(const FunctionDef* definition) : definition_(definition) {}
  std::string kind() const override { return "inner function '" + definition_->name + "'"; }
  const FunctionDef& definition() const { return *definition_; }

 private:
  const FunctionDef* definition_;
};

// What names mean outside of the function that is compiled.
class Resolver {
 public:
  virtual ~Resolver() = default;
  // Null where there is no such name.
  virtual SugaredPtr resolve_value(const std::string& name, const Range& range) = 0;
  // A dotted name in an annotation: "__torch__.M", "MyClass". Null where there is no such type.
  virtual TypePtr resolve_type(const std::string& name, const Range& range) = 0;
  // A member that the class of `object` gets when it is first used, as modules of Python get their methods.
  // Null where there is none.
  virtual SugaredPtr resolve_member(Emitter&, ir::Value*, const std::string&, const Range&) {
    return nullptr;
  }
  virtual bool has_member(const ClassType&, const std::string&) { return false; }
  // Is a module of the class an instance of the class that the dotted name means? Nothing where that is no
  // module's.
  virtual std::optional<bool> is_instance(const ClassType&, const std::string&) { return std::nullopt; }
  // Of the format that the source is written in: a builtin may have had another meaning.
  virtual int64_t version() const { return kNewestVersion; }
  // Archives may have operators that weft does not: what does not reach them runs.
  virtual bool defers_unknown_operators() const { return false; }
};
// Knows the builtin names only: torch, math, len, …
std::shared_ptr<Resolver> builtin_resolver();
// A builtin name's meaning: "torch", "math", "range", "int". Null where there is none.
SugaredPtr resolve_builtin_name(const std::string& name);
// A member of a namespace: ("torch", "relu"), ("torch.jit", "annotate"). Null where there is none.
SugaredPtr resolve_namespace_member(const std::string& path, const std::string& name);

// A dotted name of constants: torch.float32, Color.RED. Null where there is none.
SugaredPtr constant_member(const Expr::Attribute& attribute, Resolver& resolver);

// ModuleList, ModuleDict, Sequential and the like are looped over when compiling.
enum class ContainerKind { None, List, Dict };
ContainerKind container_kind(const Type& type);
// The submodules of a container in order, as names and values.
std::vector<std::pair<std::string, SugaredPtr>> container_items(Emitter& emitter, const Range& range,
                                                                ir::Value* module);

inline SugaredPtr simple(ir::Value* value) { return std::make_shared<SimpleValue>(value); }

}  // namespace weft::jit
