// Annotations, signatures and default values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "script/builtins/arithmetic.h"
#include "script/emit/emit.h"
#include "script/syntax/parser.h"

namespace weft::jit {
std::string dotted_name(const Expr& expr) {
  if (const auto* name = expr.as<Expr::Name>()) return name->id;
  const auto* attribute = expr.as<Expr::Attribute>();
  if (!attribute) return "";
  const std::string object = dotted_name(*attribute->object);
  return object.empty() ? "" : object + "." + attribute->name;
}

namespace {

struct NamedType {
  std::string_view name;
  TypePtr (*make)();
};
constexpr std::array kNamedTypes = {
    NamedType{"Tensor", &Type::tensor},
    NamedType{"int", &Type::integer},
    NamedType{"float", &Type::floating},
    NamedType{"bool", &Type::boolean},
    NamedType{"complex", &Type::complex},
    NamedType{"str", &Type::string},
    NamedType{"None", &Type::none},
    NamedType{"NoneType", &Type::none},
    NamedType{"number", &Type::number},
    NamedType{"Scalar", &Type::number},
    NamedType{"Any", &Type::any},
    NamedType{"Device", &Type::device},
    NamedType{"device", &Type::device},
    NamedType{"Generator", &Type::generator},
    NamedType{"dtype", &Type::integer},
    NamedType{"layout", &Type::integer},
    NamedType{"Layout", &Type::integer},
    NamedType{"memory_format", &Type::integer},
    NamedType{"QScheme", &Type::integer},
    NamedType{"LongTensor", &Type::tensor},
    NamedType{"FloatTensor", &Type::tensor},
    NamedType{"IntTensor", &Type::tensor},
    NamedType{"BoolTensor", &Type::tensor},
    NamedType{"DoubleTensor", &Type::tensor},
    NamedType{"Parameter", &Type::tensor},
};

// "List" of "typing.List", "device" of "torch.device"; a user's dotted name as it is.
std::string bare_name(const std::string& name) {
  for (const std::string_view space : {"torch.jit.", "torch.nn.", "torch.", "typing.", "typing_extensions.",
                                       "t.", "weft.jit.", "weft.", "builtins."}) {
    if (name.starts_with(space) && name.find('.', space.size()) == std::string::npos)
      return name.substr(space.size());
  }
  return name;
}

TypePtr simple_type(const std::string& name, const Range& range, Resolver& resolver) {
  if (const TypePtr found = resolver.resolve_type(name, range)) return found;
  const std::string bare = bare_name(name);
  for (const NamedType& type : kNamedTypes) {
    if (type.name == bare) return type.make();
  }
  if (bare == "Size") return Type::list(Type::integer());
  for (const std::string_view generic :
       {"List", "Dict", "Tuple", "Optional", "Union", "Future", "list", "dict", "tuple"}) {
    if (bare == generic)
      type_error(range, fmt::format("the type '{0}' needs its element types, as in {0}[{1}]", bare,
                                    bare == "Dict" || bare == "dict" ? "str, int" : "int"));
  }
  type_error(range, fmt::format("unknown type '{}'", name));
}

std::vector<TypePtr> types_of(const std::vector<ExprPtr>& exprs, Resolver& resolver) {
  std::vector<TypePtr> types;
  for (const ExprPtr& expr : exprs) {
    if (const auto* tuple = expr->as<Expr::Tuple>()) {
      for (const ExprPtr& element : tuple->elements) types.push_back(parse_type(*element, resolver));
    } else {
      types.push_back(parse_type(*expr, resolver));
    }
  }
  return types;
}

TypePtr generic_type(const Expr& expr, Resolver& resolver) {
  const auto& subscript = *expr.as<Expr::Subscript>();
  const std::string name = bare_name(dotted_name(*subscript.object));
  const std::vector<TypePtr> inner = types_of(subscript.indices, resolver);
  const auto expect = [&](size_t count) {
    if (inner.size() != count)
      type_error(expr.range, fmt::format("{}[…] takes {} type{}, got {}", name, count, count == 1 ? "" : "s",
                                         inner.size()));
  };
  if (name == "Tuple" || name == "tuple") return Type::tuple(inner);
  if (name == "Union") return Type::union_of(inner);
  if (name == "Dict" || name == "dict" || name == "OrderedDict") {
    expect(2);
    return Type::dict(inner[0], inner[1]);
  }
  expect(1);
  if (name == "List" || name == "list") return Type::list(inner[0]);
  if (name == "Optional") return Type::optional(inner[0]);
  if (name == "Future") return Type::future(inner[0]);
  if (name == "Final") return inner[0];
  if (name.starts_with("BroadcastingList")) return Type::list(inner[0]);
  type_error(expr.range, fmt::format("unknown generic type '{}'", name));
}

// 3 of BroadcastingList3[int]: a single int stands for three.
int64_t broadcast_length(const Expr& annotation) {
  const auto* subscript = annotation.as<Expr::Subscript>();
  if (!subscript) return -1;
  const std::string name = bare_name(dotted_name(*subscript->object));
  if (name == "Optional" && subscript->indices.size() == 1) return broadcast_length(*subscript->indices[0]);
  constexpr std::string_view kPrefix = "BroadcastingList";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return -1;
  constexpr int64_t kMost = 64;
  int64_t length = 0;
  const char* const end = name.data() + name.size();
  if (std::from_chars(name.data() + kPrefix.size(), end, length).ptr != end || length < 1 || length > kMost) {
    type_error(annotation.range, fmt::format("'{}': expected a length of 1 to {}", name, kMost));
  }
  return length;
}

}  // namespace

TypePtr parse_type(const std::string& annotation, Resolver& resolver) {
  auto source = std::make_shared<Source>();
  source->text = annotation;
  source->file = "<annotation>";
  return parse_type(*parse_expression(std::move(source)), resolver);
}

TypePtr parse_type(const Expr& annotation, Resolver& resolver) {
  if (const auto* constant = annotation.as<Expr::Constant>()) {
    if (std::holds_alternative<std::monostate>(constant->value)) return Type::none();
    if (const auto* text = std::get_if<std::string>(&constant->value)) return parse_type(*text, resolver);
  }
  if (annotation.as<Expr::Subscript>()) return generic_type(annotation, resolver);
  if (const auto* binary = annotation.as<Expr::Binary>(); binary && binary->op == BinaryOp::BitOr) {
    return Type::union_of({parse_type(*binary->left, resolver), parse_type(*binary->right, resolver)});
  }
  const std::string name = dotted_name(annotation);
  if (name.empty()) type_error(annotation.range, "this is not a type");
  return simple_type(name, annotation.range, resolver);
}

// ---- constants -------------------------------------------------------------------------------------------
namespace {

IValue as_type(IValue value, const TypePtr& type) {
  if (!type || value.is_none()) return value;
  const Type& wanted = type->is(TypeKind::Optional) ? *type->element() : *type;
  if (wanted.is(TypeKind::Float) && value.is_int()) return value.to_double();
  if (wanted.is(TypeKind::Device) && value.is_string()) return value.to_device();
  if (wanted.is(TypeKind::List) && (value.is_list() || value.is(IValue::Tag::Tuple))) {
    std::vector<IValue> elements = value.elements();
    for (IValue& element : elements) element = as_type(std::move(element), wanted.element());
    return IValue::list(wanted.element(), std::move(elements));
  }
  if (wanted.is(TypeKind::List) && wanted.element()->is(TypeKind::Int) && value.is_int())
    return value;  // BroadcastingList
  return value;
}

IValue negated(const IValue& value, const Range& range) {
  if (value.is_int() && !value.is_bool()) return wrapping_sub(0, value.to_int());
  if (value.is_double()) return -value.to_double();
  if (value.is(IValue::Tag::Complex)) return -value.to_complex();
  type_error(range, "only numbers have a sign");
}

IValue constant_elements(const std::vector<ExprPtr>& exprs, const TypePtr& type, bool is_list,
                         Resolver& resolver) {
  std::vector<IValue> values;
  const bool hints = type && type->is(TypeKind::Tuple) && type->elements().size() == exprs.size();
  const TypePtr element = type && type->is(TypeKind::List) ? type->element() : nullptr;
  for (size_t i = 0; i < exprs.size(); ++i)
    values.push_back(evaluate_constant(*exprs[i], hints ? type->elements()[i] : element, resolver));
  if (!is_list) return IValue::tuple(std::move(values));
  const TypePtr found = element ? element : values.empty() ? Type::tensor() : values[0].type();
  return IValue::list(found, std::move(values));
}

IValue named_constant(const Expr& expr, Resolver& resolver) {
  if (const auto* name = expr.as<Expr::Name>()) {
    if (name->id == "inf") return std::numeric_limits<double>::infinity();
    if (name->id == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  SugaredPtr found;
  if (const auto* name = expr.as<Expr::Name>()) {
    found = resolver.resolve_value(name->id, expr.range);
    if (!found) found = resolve_builtin_name(name->id);
  } else if (const auto* attribute = expr.as<Expr::Attribute>()) {
    found = constant_member(*attribute, resolver);
  }
  if (const auto* constant = dynamic_cast<const ConstantSugar*>(found.get())) return constant->constant();
  type_error(expr.range, "expected a constant");
}

}  // namespace

// torch.float32, Color.RED: a member of a namespace or an enumeration. Null where there is none.
SugaredPtr constant_member(const Expr::Attribute& attribute, Resolver& resolver) {
  SugaredPtr object;
  if (const auto* name = attribute.object->as<Expr::Name>()) {
    object = resolver.resolve_value(name->id, attribute.object->range);
    if (!object) object = resolve_builtin_name(name->id);
  } else if (const auto* inner = attribute.object->as<Expr::Attribute>()) {
    object = constant_member(*inner, resolver);
  }
  if (const auto* space = dynamic_cast<const NamespaceSugar*>(object.get()))
    return resolve_namespace_member(space->path(), attribute.name);
  if (const auto* type = dynamic_cast<const ClassSugar*>(object.get()))
    return type->constant_member(attribute.name);
  return object ? object->constant_attribute(attribute.object->range, attribute.name) : nullptr;
}

IValue evaluate_constant(const Expr& expr, const TypePtr& type, Resolver& resolver) {
  const TypePtr inner = type && type->is(TypeKind::Optional) ? type->element() : type;
  if (const auto* constant = expr.as<Expr::Constant>()) {
    return std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
            return IValue();
          else
            return as_type(IValue(value), type);
        },
        constant->value);
  }
  if (const auto* unary = expr.as<Expr::Unary>()) {
    const IValue operand = evaluate_constant(*unary->operand, type, resolver);
    return unary->op == UnaryOp::Neg ? negated(operand, expr.range) : operand;
  }
  const auto* binary = expr.as<Expr::Binary>();
  if (binary && (binary->op == BinaryOp::Add || binary->op == BinaryOp::Sub)) {  // 1.+2.j
    const IValue left = evaluate_constant(*binary->left, nullptr, resolver),
                 right = evaluate_constant(*binary->right, nullptr, resolver);
    if (left.is_number() && right.is(IValue::Tag::Complex)) {
      const std::complex<double> sign = binary->op == BinaryOp::Add ? 1 : -1;
      return as_type(left.to_complex() + sign * right.to_complex(), type);
    }
  }
  if (const auto* list = expr.as<Expr::List>())
    return as_type(constant_elements(list->elements, inner, true, resolver), type);
  if (const auto* tuple = expr.as<Expr::Tuple>())
    return as_type(constant_elements(tuple->elements, inner, false, resolver), type);
  if (const auto* dict = expr.as<Expr::Dict>()) {
    const bool typed = inner && inner->is(TypeKind::Dict);
    IValue result = IValue::dict(typed ? inner->elements()[0] : Type::string(),
                                 typed ? inner->elements()[1] : Type::tensor());
    for (const auto& [key, item] : dict->items) {
      result.to_dict()->set(evaluate_constant(*key, nullptr, resolver),
                            evaluate_constant(*item, typed ? inner->elements()[1] : nullptr, resolver));
    }
    return result;
  }
  if (const auto* call = expr.as<Expr::Call>()) {  // torch.device("cpu"), annotate(T, x)
    const std::string name = bare_name(dotted_name(*call->function));
    if (name == "device" && call->arguments.size() == 1)
      return evaluate_constant(*call->arguments[0], Type::device(), resolver);
    if (name == "annotate" && call->arguments.size() == 2)
      return evaluate_constant(*call->arguments[1], parse_type(*call->arguments[0], resolver), resolver);
  }
  return as_type(named_constant(expr, resolver), type);
}

// ---- signatures ------------------------------------------------------------------------------------------
Schema schema_of(const FunctionDef& definition, Resolver& resolver, const ClassTypePtr& self) {
  Schema schema;
  schema.name = definition.name;
  for (const Parameter& parameter : definition.parameters) {
    if (parameter.kind == Parameter::Kind::VarArgs || parameter.kind == Parameter::Kind::VarKeywords) {
      syntax_error(
          parameter.range,
          fmt::format("'{}': a TorchScript function has a fixed number of parameters", parameter.name));
    }
    SchemaArgument argument;
    argument.name = parameter.name;
    argument.keyword_only = parameter.kind == Parameter::Kind::KeywordOnly;
    argument.type = Type::tensor();
    if (self && schema.arguments.empty()) {
      argument.type = self;
    } else if (parameter.annotation) {
      argument.type = parse_type(*parameter.annotation, resolver);
      argument.list_length = broadcast_length(*parameter.annotation);
    }
    if (parameter.default_value) {
      argument.default_value = evaluate_constant(*parameter.default_value, argument.type, resolver);
      if (argument.list_length > 0 && argument.default_value->is_int()) {
        argument.default_value = IValue::list(
            Type::integer(),
            std::vector<IValue>(static_cast<size_t>(argument.list_length), *argument.default_value));
      }
    }
    schema.arguments.push_back(std::move(argument));
  }
  if (self && schema.arguments.empty())
    syntax_error(definition.range, fmt::format("the method '{}' has no parameter self", definition.name));
  if (definition.returns) schema.returns.push_back({"", parse_type(*definition.returns, resolver)});
  return schema;
}

}  // namespace weft::jit
