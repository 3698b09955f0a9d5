// Functions and methods, whole.
#include "script/program/function.h"

#include <fmt/format.h>

#include "script/builtins/prim.h"
#include "script/emit/emitter.h"
#include "weft/error.h"

namespace weft::jit {

TypePtr Emitter::emit_function(const FunctionDef& definition, const Schema& schema, TypePtr declared) {
  declared_return_ = std::move(declared);
  for (const SchemaArgument& argument : schema.arguments) {
    ir::Value* parameter = graph_.add_param(
        graph_.body(), {.kind = ir::Type::Kind::Script, .tensor = {}, .script = argument.type},
        argument.name);
    frame_->names[argument.name] = {simple(parameter), false};
  }
  emit_body(definition.body);
  emit_live(
      [&] {
        if (declared_return_ && !may_be_none(declared_return_)) {
          type_error(definition.range,
                     fmt::format("'{}' is declared to return {}, but not every path ends in a return",
                                 definition.name, declared_return_->str()));
        }
        emit_return(nullptr, definition.range);
      },
      definition.range);
  ir::Value* result = nullptr;
  if (flow_.kind == Flow::Raised) {
    result = uninitialized(declared_return_ ? declared_return_ : Type::none(), definition.range);
  } else {
    const SugaredPtr returned = frame_->names.at("$return").value;
    if (const auto* undefined = dynamic_cast<const UndefinedValue*>(returned.get())) {
      type_error(definition.range, fmt::format("the values that '{}' returns have no common type: {}",
                                               definition.name, undefined->reason()));
    }
    result = returned->value();
  }
  graph_.add_return(graph_.body(), result);
  return declared_return_ ? declared_return_ : type_of(result);
}

namespace {

// Compiles a body once; a function whose return type is inferred must not be needed meanwhile.
class Definition {
 public:
  Definition(CompilationUnit& unit, std::shared_ptr<const FunctionDef> definition,
             std::shared_ptr<Resolver> resolver, ClassTypePtr self)
      : unit_(unit.weak_from_this()),
        definition_(std::move(definition)),
        resolver_(std::move(resolver)),
        self_(self) {}

  void bind(Function& function) { function_ = &function; }

  std::unique_ptr<ir::Graph> compile() {
    const auto unit = unit_.lock();
    WEFT_CHECK(unit, fmt::format("{}: the program it belongs to is gone", definition_->name));
    FunctionImpl& impl = function_->impl();
    const bool infers = impl.schema.returns.empty();
    if (infers && std::exchange(is_compiling_, true)) {
      type_error(definition_->range,
                 fmt::format("'{}' calls itself: a recursive function needs a return annotation",
                             definition_->name));
    }
    const Reset reset{is_compiling_};
    auto graph = std::make_unique<ir::Graph>(impl.qualified_name);
    Emitter emitter(*graph, *unit, resolver_);
    const ClassTypePtr self = self_.lock();
    if (self && !self->is_module() && definition_->name == "__init__") emitter.constructing = self;
    const TypePtr returned =
        emitter.emit_function(*definition_, impl.schema, infers ? nullptr : impl.schema.returns[0].type);
    if (infers) impl.schema.returns.push_back({"", returned});
    return graph;
  }

 private:
  struct Reset {
    bool& flag;
    ~Reset() { flag = false; }
  };
  std::weak_ptr<CompilationUnit> unit_;
  std::shared_ptr<const FunctionDef> definition_;
  std::shared_ptr<Resolver> resolver_;
  std::weak_ptr<ClassType> self_;
  Function* function_ = nullptr;
  bool is_compiling_ = false;
};

}  // namespace

std::shared_ptr<Function> make_function(CompilationUnit& unit, const std::string& qualified_name,
                                        std::shared_ptr<const FunctionDef> definition,
                                        std::shared_ptr<Resolver> resolver, const ClassTypePtr& self) {
  Schema schema = schema_of(*definition, *resolver, self);
  if (self && definition->name == "__init__" && !definition->returns)
    schema.returns.push_back({"", Type::none()});
  const auto body = std::make_shared<Definition>(unit, std::move(definition), std::move(resolver), self);
  auto function =
      std::make_shared<Function>(qualified_name, std::move(schema), [body] { return body->compile(); });
  body->bind(*function);
  function->impl().unit = unit.weak_from_this();
  return function;
}

std::shared_ptr<Function> define_function(CompilationUnit& unit, const std::string& qualified_name,
                                          std::shared_ptr<const FunctionDef> definition,
                                          std::shared_ptr<Resolver> resolver, ClassTypePtr self) {
  auto function = make_function(unit, qualified_name, std::move(definition), std::move(resolver), self);
  if (self)
    self->add_method(function);
  else
    unit.add_function(function);
  return function;
}

void infer_return_type(Function& function) {
  const std::lock_guard lock(function.impl().mutex);  // another thread may be at it
  if (function.schema().returns.empty()) function.graph();
}

}  // namespace weft::jit
