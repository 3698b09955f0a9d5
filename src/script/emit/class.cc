// Classes: the user's own, NamedTuples, enumerations and interfaces.
#include <fmt/format.h>

#include <algorithm>

#include "script/emit/class_definition.h"
#include "script/emit/emit.h"
#include "script/emit/emitter.h"
#include "weft/error.h"

namespace weft::jit {

std::string last_name(const Expr& expr) {
  if (const auto* name = expr.as<Expr::Name>()) return name->id;
  if (const auto* attribute = expr.as<Expr::Attribute>()) return attribute->name;
  if (const auto* call = expr.as<Expr::Call>()) return last_name(*call->function);
  return "";
}

bool has_base(const ClassDef& definition, std::string_view name) {
  return std::any_of(definition.bases.begin(), definition.bases.end(),
                     [&](const ExprPtr& base) { return last_name(*base) == name; });
}

// ---- NamedTuple, Enum, interface -------------------------------------------------------------------------
TypePtr make_named_tuple(const std::string& qualified_name, const ClassDef& definition, Resolver& resolver) {
  std::vector<std::string> fields;
  std::vector<TypePtr> types;
  std::vector<IValue> defaults;
  for (const StmtPtr& statement : definition.body) {
    const auto* assign = statement->as<Stmt::Assign>();
    if (!assign || !assign->annotation) continue;
    const auto* name = assign->targets[0]->as<Expr::Name>();
    if (!name) syntax_error(statement->range, "a field of a NamedTuple is a name");
    fields.push_back(name->id);
    types.push_back(parse_type(*assign->annotation, resolver));
    if (assign->value)
      defaults.push_back(evaluate_constant(*assign->value, types.back(), resolver));
    else if (!defaults.empty())
      syntax_error(statement->range,
                   fmt::format("field '{}' without a default follows one with a default", name->id));
  }
  return Type::named_tuple(qualified_name, std::move(fields), std::move(types), std::move(defaults));
}

TypePtr make_enum(const std::string& qualified_name, const ClassDef& definition, Resolver& resolver) {
  std::vector<std::pair<std::string, IValue>> members;
  TypePtr type;
  for (const StmtPtr& statement : definition.body) {
    const auto* assign = statement->as<Stmt::Assign>();
    const auto* name = assign ? assign->targets[0]->as<Expr::Name>() : nullptr;
    if (!name || !assign->value) continue;
    IValue value = evaluate_constant(*assign->value, nullptr, resolver);
    if (type && !type->equals(*value.type()))
      type_error(statement->range,
                 fmt::format("{}: the members' values must be of one type", qualified_name));
    type = value.type();
    members.emplace_back(name->id, std::move(value));
  }
  if (!type) syntax_error(definition.range, fmt::format("{} has no members", qualified_name));
  return EnumType::create(qualified_name, type, std::move(members));
}

void add_interface_methods(const std::shared_ptr<InterfaceType>& interface, const ClassDef& definition,
                           Resolver& resolver) {
  for (const StmtPtr& statement : definition.body) {
    const auto* method = statement->as<Stmt::Def>();
    if (!method) continue;
    Schema schema = schema_of(method->function, resolver, nullptr);
    if (schema.arguments.empty())
      syntax_error(statement->range,
                   fmt::format("the method '{}' has no parameter self", method->function.name));
    schema.arguments[0].type = interface;
    if (schema.returns.empty()) schema.returns.push_back({"", Type::none()});
    interface->add_method(std::make_shared<const Schema>(std::move(schema)));
  }
}

// ---- the user's own --------------------------------------------------------------------------------------
namespace {

enum class MethodKind { Plain, Static, Getter, Setter, Ignored };

MethodKind kind_of(const FunctionDef& function) {
  for (const ExprPtr& decorator : function.decorators) {
    const std::string name = last_name(*decorator);
    if (name == "staticmethod") return MethodKind::Static;
    if (name == "property") return MethodKind::Getter;
    if (name == "setter") return MethodKind::Setter;
    if (name == "ignore" || name == "unused") return MethodKind::Ignored;
    if (name == "classmethod") syntax_error(function.range, "class methods are not part of TorchScript");
  }
  return MethodKind::Plain;
}

void add_property(const ClassTypePtr& type, const std::string& name, std::shared_ptr<Function> function,
                  bool is_setter) {
  auto found = std::find_if(type->properties.begin(), type->properties.end(),
                            [&](const auto& p) { return p.name == name; });
  if (found == type->properties.end()) found = type->properties.insert(found, {name, nullptr, nullptr});
  (is_setter ? found->setter : found->getter) = std::move(function);
}

void add_member(CompilationUnit& unit, const ClassTypePtr& type, std::shared_ptr<const FunctionDef> function,
                std::shared_ptr<Resolver> resolver) {
  const MethodKind kind = kind_of(*function);
  const std::string name = function->name;
  const std::string qualified = type->name() + "." + name;
  switch (kind) {
    case MethodKind::Ignored: return;
    case MethodKind::Static: {
      // A function beside the class: archives have no place for it inside.
      const std::string space = type->name().substr(0, type->name().rfind('.'));
      type->add_static_method(define_function(unit, unit.unique_name(space + "." + name), std::move(function),
                                              std::move(resolver)));
      return;
    }
    case MethodKind::Plain:
      type->add_method(make_function(unit, qualified, std::move(function), std::move(resolver), type));
      return;
    case MethodKind::Getter:
    case MethodKind::Setter: {
      const bool is_setter = kind == MethodKind::Setter;
      auto method = make_function(unit, type->name() + (is_setter ? ".__set_" : ".__get_") + name,
                                  std::move(function), std::move(resolver), type);
      type->add_method(method);
      add_property(type, name, std::move(method), is_setter);
      return;
    }
  }
}

// "x: int" declares an attribute, "x: Final[int] = 3" and "x = 3" constants.
void add_class_variable(const ClassTypePtr& type, const Stmt::Assign& assign, Resolver& resolver) {
  const auto* name = assign.targets[0]->as<Expr::Name>();
  if (!name || name->id.starts_with("__")) return;
  const TypePtr annotated = assign.annotation ? parse_type(*assign.annotation, resolver) : nullptr;
  if (assign.value)
    type->add_constant(name->id, evaluate_constant(*assign.value, annotated, resolver));
  else if (annotated)
    type->add_attribute({.name = name->id, .type = annotated});
}

TypePtr define_object_class(CompilationUnit& unit, const std::string& qualified_name,
                            const std::shared_ptr<const ClassDef>& definition,
                            const std::shared_ptr<Resolver>& resolver) {
  if (!definition->bases.empty() && !has_base(*definition, "object")) {
    syntax_error(definition->bases[0]->range,
                 fmt::format("{}: a TorchScript class has no base class but NamedTuple, Enum or Module",
                             definition->name));
  }
  const ClassTypePtr type = ClassType::create(qualified_name, false);
  unit.add_type(type);
  for (const StmtPtr& statement : definition->body) {
    if (const auto* assign = statement->as<Stmt::Assign>()) add_class_variable(type, *assign, *resolver);
    if (const auto* method = statement->as<Stmt::Def>()) {
      add_member(unit, type, std::shared_ptr<const FunctionDef>(definition, &method->function), resolver);
    }
  }
  // __init__ first: it says which attributes there are.
  if (const auto init = type->find_method("__init__")) init->graph();
  for (const auto& method : std::vector(type->methods())) method->graph();
  return type;
}

}  // namespace

TypePtr define_class(CompilationUnit& unit, const std::string& qualified_name,
                     std::shared_ptr<const ClassDef> definition, std::shared_ptr<Resolver> resolver) {
  const bool is_interface = has_base(*definition, "Interface") || has_base(*definition, "ModuleInterface") ||
                            std::any_of(definition->decorators.begin(), definition->decorators.end(),
                                        [](const ExprPtr& d) { return last_name(*d) == "interface"; });
  if (is_interface) {
    const auto interface = InterfaceType::create(
        qualified_name, has_base(*definition, "ModuleInterface") || has_base(*definition, "Module"));
    unit.add_type(interface);
    add_interface_methods(interface, *definition, *resolver);
    return interface;
  }
  TypePtr type;
  if (has_base(*definition, "NamedTuple"))
    type = make_named_tuple(qualified_name, *definition, *resolver);
  else if (has_base(*definition, "Enum"))
    type = make_enum(qualified_name, *definition, *resolver);
  else
    return define_object_class(unit, qualified_name, definition, resolver);
  unit.add_type(type);
  return type;
}

}  // namespace weft::jit
