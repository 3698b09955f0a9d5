// Calls, and functions run on the inter-op pool.
#include <fmt/format.h>

#include "script/builtins/prim.h"
#include "script/emit/emitter.h"
#include "script/emit/overload.h"

namespace weft::jit {

SugaredPtr Emitter::emit_call(const Expr& expr, const TypePtr& hint) {
  const auto& call = *expr.as<Expr::Call>();
  return emit_sugared(*call.function)->call_expr(*this, expr.range, call, hint);
}

CallArguments Emitter::emit_arguments(const Expr::Call& call, size_t first) {
  CallArguments arguments;
  for (size_t i = first; i < call.arguments.size(); ++i) {
    const ExprPtr& argument = call.arguments[i];
    if (const auto* starred = argument->as<Expr::Starred>()) {
      for (const SugaredPtr& element :
           emit_sugared(*starred->value)->as_tuple(*this, argument->range, std::nullopt)) {
        arguments.push_back({"", element->as_value(*this, argument->range), argument->range});
      }
    } else {
      arguments.push_back({"", emit(*argument), argument->range});
    }
  }
  for (const Keyword& keyword : call.keywords) {
    if (keyword.name.empty()) syntax_error(keyword.range, "'**' arguments are not part of TorchScript");
    arguments.push_back({keyword.name, emit(*keyword.value), keyword.range});
  }
  return arguments;
}

std::vector<ir::Value*> Emitter::match_call(const Schema& schema, const CallArguments& arguments,
                                            const Range& range) {
  return select_overload(*this, schema.name, {&schema}, arguments, range).match.inputs;
}

// ---- fork ------------------------------------------------------------------------------------------------
namespace {

// Names of an inner function that belong to the function around it become parameters.
class CaptureResolver final : public Resolver {
 public:
  CaptureResolver(Emitter& outer, ir::Graph& graph) : outer_(outer), graph_(graph) {}

  SugaredPtr resolve_value(const std::string& name, const Range& range) override {
    const SugaredPtr found = outer_.find_name(name);
    if (!found) return outer_.resolver().resolve_value(name, range);
    if (!found->value()) return found;
    ir::Value*& parameter = parameters_[name];
    if (!parameter) {
      parameter = graph_.add_param(graph_.body(), found->value()->type, name);
      captured.push_back(found->value());
    }
    return simple(parameter);
  }
  TypePtr resolve_type(const std::string& name, const Range& range) override {
    return outer_.resolver().resolve_type(name, range);
  }
  SugaredPtr resolve_member(Emitter& emitter, ir::Value* object, const std::string& name,
                            const Range& range) override {
    return outer_.resolver().resolve_member(emitter, object, name, range);
  }
  bool has_member(const ClassType& type, const std::string& name) override {
    return outer_.resolver().has_member(type, name);
  }
  std::optional<bool> is_instance(const ClassType& type, const std::string& name) override {
    return outer_.resolver().is_instance(type, name);
  }
  bool defers_unknown_operators() const override { return outer_.resolver().defers_unknown_operators(); }

  std::vector<ir::Value*> captured;

 private:
  Emitter& outer_;
  ir::Graph& graph_;
  std::map<std::string, ir::Value*> parameters_;
};

ir::Value* fork_value(Emitter& emitter, const Range& range, std::shared_ptr<Function> function,
                      std::vector<ir::Value*> inputs) {
  ir::ScriptPayload payload;
  const TypePtr type = Type::future(function->schema().return_type());
  payload.function = std::move(function);
  return emitter.value(prim::kFork, std::move(inputs), type, range, payload);
}

SugaredPtr fork_closure(Emitter& outer, const Range& range, const FunctionDef& definition) {
  auto graph = std::make_shared<std::unique_ptr<ir::Graph>>(std::make_unique<ir::Graph>(definition.name));
  const auto resolver = std::make_shared<CaptureResolver>(outer, **graph);
  Schema schema;
  schema.name = definition.name;
  const TypePtr declared = definition.returns ? parse_type(*definition.returns, outer.resolver()) : nullptr;
  Emitter inner(**graph, outer.unit(), resolver);
  const TypePtr returned = inner.emit_function(definition, schema, declared);
  for (const ir::Value* input : (*graph)->inputs()) {
    SchemaArgument argument;
    argument.name = input->name;
    argument.type = type_of(input);
    schema.arguments.push_back(std::move(argument));
  }
  schema.returns.push_back({"", returned});
  auto function =
      std::make_shared<Function>(definition.name, std::move(schema), [graph] { return std::move(*graph); });
  return simple(fork_value(outer, range, std::move(function), resolver->captured));
}

}  // namespace

SugaredPtr Emitter::emit_fork(const Range& range, const Expr::Call& call) {
  if (call.arguments.empty()) type_error(range, "fork() takes a function and its arguments");
  const SugaredPtr target = emit_sugared(*call.arguments[0]);
  if (const auto* closure = dynamic_cast<const ClosureSugar*>(target.get()))
    return fork_closure(*this, range, closure->definition());
  return fork_target(target, emit_arguments(call, 1), range);
}

SugaredPtr Emitter::fork_target(const SugaredPtr& target, CallArguments arguments, const Range& range) {
  if (const auto* function = dynamic_cast<const FunctionSugar*>(target.get())) {
    const auto& callee = function->overloads()[0];
    infer_return_type(*callee);
    return simple(fork_value(*this, range, callee, match_call(callee->schema(), arguments, range)));
  }
  ir::Value* object = target->value();
  std::string name = "forward";
  if (const auto* method = dynamic_cast<const MethodSugar*>(target.get())) {
    object = method->object();
    name = method->name();
  }
  const auto callee = object && type_of(object)->is(TypeKind::Class)
                          ? static_cast<const ClassType&>(*type_of(object)).find_method(name)
                          : nullptr;
  if (!callee) type_error(range, target->kind() + " cannot be forked");
  infer_return_type(*callee);
  arguments.insert(arguments.begin(), {"", object, range});
  return simple(fork_value(*this, range, callee, match_call(callee->schema(), arguments, range)));
}

}  // namespace weft::jit
