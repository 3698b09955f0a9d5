#include "script/emit/overload.h"

#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/prim.h"

namespace weft::jit {

bool has_variables(const TypePtr& type) {
  if (type->is(TypeKind::Var)) return true;
  return std::any_of(type->elements().begin(), type->elements().end(), has_variables);
}

namespace {

bool bind_one(const TypePtr& variable, const TypePtr& actual, Bindings& bindings, std::string* reason) {
  TypePtr& bound = bindings[variable->name()];
  const TypePtr merged = bound ? unify(bound, actual) : actual;
  if (!merged) {
    if (reason)
      *reason = fmt::format("{} is {} and {} at once", variable->name(), bound->str(), actual->str());
    return false;
  }
  bound = merged;
  return true;
}

bool mismatch(const TypePtr& formal, const TypePtr& actual, std::string* reason) {
  if (reason) *reason = fmt::format("expected {}, got {}", formal->str(), actual->str());
  return false;
}

// The list that a tuple of like elements can stand for.
TypePtr list_of_tuple(const Type& tuple) {
  TypePtr element;
  for (const TypePtr& type : tuple.elements()) {
    element = element ? unify(element, type) : type;
    if (!element) return nullptr;
  }
  return element ? Type::list(element) : nullptr;
}

}  // namespace

bool bind_variables(const TypePtr& formal, const TypePtr& actual, Bindings& bindings, std::string* reason) {
  if (!has_variables(formal)) return true;
  if (formal->is(TypeKind::Var)) return bind_one(formal, actual, bindings, reason);
  if (formal->is(TypeKind::Optional)) {
    if (actual->is(TypeKind::None)) return true;
    return bind_variables(formal->element(), without_none(actual), bindings, reason);
  }
  if (formal->is(TypeKind::List) && actual->is(TypeKind::Tuple)) {
    const TypePtr list = list_of_tuple(*actual);
    return list ? bind_variables(formal, list, bindings, reason) : mismatch(formal, actual, reason);
  }
  if (formal->kind() != actual->kind() || formal->elements().size() != actual->elements().size()) {
    return mismatch(formal, actual, reason);
  }
  for (size_t i = 0; i < formal->elements().size(); ++i) {
    if (!bind_variables(formal->elements()[i], actual->elements()[i], bindings, reason)) return false;
  }
  return true;
}

TypePtr substitute(const TypePtr& type, const Bindings& bindings) {
  if (!has_variables(type)) return type;
  if (type->is(TypeKind::Var)) {
    const auto found = bindings.find(type->name());
    return found == bindings.end() || !found->second ? type : found->second;
  }
  std::vector<TypePtr> elements;
  for (const TypePtr& element : type->elements()) elements.push_back(substitute(element, bindings));
  switch (type->kind()) {
    case TypeKind::List: return Type::list(elements[0]);
    case TypeKind::Optional: return Type::optional(elements[0]);
    case TypeKind::Future: return Type::future(elements[0]);
    case TypeKind::Dict: return Type::dict(elements[0], elements[1]);
    case TypeKind::Tuple: return Type::tuple(std::move(elements));
    case TypeKind::Union: return Type::union_of(std::move(elements));
    default: return type;
  }
}

namespace {

// What one argument of the schema is called with.
struct Operand {
  const SchemaArgument* formal = nullptr;
  std::vector<const CallArgument*> values;  // several: a list of them; none: the default
  bool is_list_of_values = false;           // f(1, 2) for f([1, 2])
  size_t repeats = 0;                       // f(1) for f([1, 1])
  TypePtr type;                             // the formal's, variables replaced
};

class Matcher {
 public:
  Matcher(Emitter& emitter, const Schema& schema, const CallArguments& arguments, bool implicit)
      : emitter_(emitter), schema_(schema), arguments_(arguments), implicit_(implicit) {}

  bool match() { return place_arguments() && check_types(); }
  std::string reason;

  SchemaMatch emit(const Range& range) {
    SchemaMatch result;
    for (const Operand& operand : operands_) result.inputs.push_back(emit_operand(operand, range));
    for (const CallArgument* extra : extras_) result.inputs.push_back(extra->value);
    for (const SchemaReturn& returned : schema_.returns)
      result.returns.push_back(substitute(returned.type, bindings_));
    return result;
  }

 private:
  bool fail(std::string text) {
    reason = std::move(text);
    return false;
  }

  bool place_arguments() {
    std::vector<const CallArgument*> positional;
    std::map<std::string, const CallArgument*> keywords;
    for (const CallArgument& argument : arguments_) {
      if (argument.name.empty()) {
        positional.push_back(&argument);
      } else if (!keywords.emplace(argument.name, &argument).second) {
        return fail(fmt::format("argument '{}' is given twice", argument.name));
      }
    }
    size_t next = 0;
    for (size_t i = 0; i < schema_.arguments.size(); ++i) {
      if (!place_argument(i, positional, next, keywords)) return false;
    }
    if (schema_.is_vararg) {
      for (; next < positional.size(); ++next) extras_.push_back(positional[next]);
    }
    if (next < positional.size()) {
      return fail(fmt::format("takes {} positional arguments, got {}", next, positional.size()));
    }
    if (!keywords.empty()) return fail(fmt::format("there is no argument '{}'", keywords.begin()->first));
    return true;
  }

  bool place_argument(size_t index, const std::vector<const CallArgument*>& positional, size_t& next,
                      std::map<std::string, const CallArgument*>& keywords) {
    const SchemaArgument& formal = schema_.arguments[index];
    Operand operand;
    operand.formal = &formal;
    auto keyword = keywords.find(formal.name);
    // Operators' "self" is "input" in torch's functions.
    if (index == 0 && keyword == keywords.end() && formal.name == "self" &&
        schema_.name.find("::") != std::string::npos)
      keyword = keywords.find("input");
    if (!formal.keyword_only && next < positional.size()) {
      if (keyword != keywords.end()) return fail(fmt::format("argument '{}' is given twice", formal.name));
      if (takes_rest(index, *positional[next])) {
        operand.is_list_of_values = true;
        for (; next < positional.size(); ++next) operand.values.push_back(positional[next]);
      } else {
        operand.values.push_back(positional[next++]);
      }
    } else if (keyword != keywords.end()) {
      operand.values.push_back(keyword->second);
      keywords.erase(keyword);
    } else if (!formal.default_value) {
      return fail(fmt::format("argument '{}' of type {} is missing", formal.name, formal.type->str()));
    }
    operands_.push_back(std::move(operand));
    return true;
  }

  // x.view(2, 3): the last positional argument is a list, and what is given is its elements.
  bool takes_rest(size_t index, const CallArgument& given) const {
    const SchemaArgument& formal = schema_.arguments[index];
    const bool is_last = index + 1 == schema_.arguments.size() || schema_.arguments[index + 1].keyword_only;
    if (!is_last || schema_.is_vararg || formal.list_length > 0 || !formal.type->is(TypeKind::List))
      return false;
    if (formal.type->element()->is(TypeKind::Any)) return false;     // anything would do: len("abc")
    if (schema_.name.find("::") == std::string::npos) return false;  // of builtins only
    const TypePtr& element = formal.type->element();
    const TypePtr& type = jit::type_of(given.value);
    if (element->is(TypeKind::Var) || element->is(TypeKind::Any)) return false;
    return type->is_subtype_of(*element) ||
           (implicit_ && element->is(TypeKind::Int) && type->is(TypeKind::Tensor));
  }

  bool check_types() {
    for (Operand& operand : operands_) {
      if (!check_operand(operand))
        return fail(fmt::format("argument '{}': {}", operand.formal->name, reason));
    }
    // A later argument may have made a variable wider: None after a List[int] makes t an Optional[int].
    for (Operand& operand : operands_) {
      operand.type = substitute(operand.formal->type, bindings_);
      const bool is_one = operand.values.size() == 1 && !operand.is_list_of_values && operand.repeats == 0;
      if (is_one && has_variables(operand.formal->type) && !has_variables(operand.type) &&
          !fits(operand.values[0]->value, operand.type))
        return fail(fmt::format("argument '{}': {}", operand.formal->name, reason));
    }
    return true;
  }

  bool check_operand(Operand& operand) {
    operand.type = operand.formal->type;
    if (operand.values.empty()) return true;
    if (operand.is_list_of_values) {
      for (const CallArgument* argument : operand.values) {
        if (!fits(argument->value, operand.type->element())) return false;
      }
      return true;
    }
    ir::Value* value = operand.values[0]->value;
    const TypePtr list = without_none(operand.type);
    if (operand.formal->list_length > 0 && list->is(TypeKind::List) &&
        (jit::type_of(value)->is_subtype_of(*list->element()) ||
         (implicit_ && is_number_type(list->element()) && is_number_type(jit::type_of(value)) &&
          convertible(jit::type_of(value), list->element())))) {
      operand.repeats = static_cast<size_t>(operand.formal->list_length);
      return true;
    }
    if (has_variables(operand.type)) {
      if (!bind_variables(operand.type, jit::type_of(value), bindings_, &reason)) return false;
      operand.type = substitute(operand.type, bindings_);
      if (has_variables(operand.type)) return true;  // None for t?
    }
    return fits(value, operand.type);
  }

  bool fits(const ir::Value* value, const TypePtr& type) {
    const TypePtr& from = jit::type_of(value);
    if (from->is_subtype_of(*type) || is_literal_for(value, *without_none(type)) ||
        (implicit_ && convertible(from, without_none(type)))) {
      return true;
    }
    return mismatch(type, from, &reason);
  }

  // What try_convert converts always: tuples to lists, empty lists and dictionaries to others. Not those that
  // a name stands for, to which the callee may add.
  bool is_literal_for(const ir::Value* value, const Type& type) const {
    const TypePtr& from = jit::type_of(value);
    if (type.is(TypeKind::List)) {
      if (emitter_.is_empty_literal(value, prim::kListConstruct)) return !emitter_.has_name(value);
      return from->is(TypeKind::Tuple) &&
             std::all_of(from->elements().begin(), from->elements().end(),
                         [&](const TypePtr& element) { return element->is_subtype_of(*type.element()); });
    }
    return type.is(TypeKind::Dict) && emitter_.is_empty_literal(value, prim::kDictConstruct) &&
           !emitter_.has_name(value);
  }

  static bool convertible(const TypePtr& from, const TypePtr& type) {
    const bool is_tensor = from->is(TypeKind::Tensor), is_number = from->is(TypeKind::Number);
    switch (type->kind()) {
      case TypeKind::Float: return is_tensor || is_number || from->is(TypeKind::Int);
      case TypeKind::Int:
      case TypeKind::Complex: return is_tensor || is_number;
      case TypeKind::Number: return is_tensor || from->is(TypeKind::Bool);
      case TypeKind::Bool: return is_tensor;
      case TypeKind::Device: return from->is(TypeKind::String);
      default: return false;
    }
  }

  ir::Value* emit_operand(const Operand& operand, const Range& range) const {
    if (operand.values.empty()) return emit_default(operand, range);
    if (!operand.is_list_of_values && operand.repeats == 0) {
      const CallArgument& argument = *operand.values[0];
      ir::Value* converted = has_variables(operand.type) ? argument.value
                                                         : emitter_.try_convert(argument.value, operand.type,
                                                                                argument.range, implicit_);
      WEFT_ASSERT(converted, fmt::format("{}: {} for {}", schema_.str(), jit::type_of(argument.value)->str(),
                                         operand.type->str()));
      return converted;
    }
    const TypePtr element = without_none(operand.type)->element();
    std::vector<ir::Value*> values;
    for (const CallArgument* argument : operand.values) {
      values.push_back(emitter_.try_convert(argument->value, element, argument->range, true));
    }
    if (operand.repeats > 0) values.resize(operand.repeats, values[0]);
    return emitter_.make_list(element, values, range);
  }

  ir::Value* emit_default(const Operand& operand, const Range& range) const {
    const IValue& value = *operand.formal->default_value;
    if (value.is_none() || has_variables(operand.type)) return emitter_.constant(value, range);
    // A list is made anew for each call.
    if (value.is_list()) {
      const TypePtr element = value.to_list()->element;
      std::vector<ir::Value*> values;
      for (const IValue& item : value.elements()) values.push_back(emitter_.constant(item, range));
      return emitter_.make_list(element, values, range);
    }
    return emitter_.constant(value, range);
  }

  Emitter& emitter_;
  const Schema& schema_;
  const CallArguments& arguments_;
  bool implicit_;
  std::vector<Operand> operands_;
  std::vector<const CallArgument*> extras_;
  Bindings bindings_;
};

std::string argument_types(const CallArguments& arguments) {
  std::string text;
  for (const CallArgument& argument : arguments) {
    text += (text.empty() ? "" : ", ") + (argument.name.empty() ? "" : argument.name + "=") +
            jit::type_of(argument.value)->str();
  }
  return text;
}

[[noreturn]] void no_overload(Emitter& emitter, const std::string& name,
                              const std::vector<const Schema*>& schemas, const CallArguments& arguments,
                              const Range& range) {
  std::string text = fmt::format("{} cannot be called with ({})", name, argument_types(arguments));
  for (const Schema* schema : schemas) {
    Matcher matcher(emitter, *schema, arguments, true);
    matcher.match();
    text += fmt::format("\n  {}\n    {}", schema->str(), matcher.reason);
  }
  type_error(range, text);
}

}  // namespace

namespace {

bool takes_anything(const Schema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [](const SchemaArgument& argument) { return argument.type->is(TypeKind::Any); });
}

}  // namespace

// Arguments as they are, then converted; an overload that takes anything is none that fits better than
// others.
Overload select_overload(Emitter& emitter, const std::string& name, const std::vector<const Schema*>& schemas,
                         const CallArguments& arguments, const Range& range) {
  for (const bool implicit : {false, true}) {
    for (size_t i = 0; i < schemas.size(); ++i) {
      if (!implicit && schemas.size() > 1 && takes_anything(*schemas[i])) continue;
      Matcher matcher(emitter, *schemas[i], arguments, implicit);
      if (matcher.match()) return {i, matcher.emit(range)};
    }
  }
  no_overload(emitter, name, schemas, arguments, range);
}

bool fits_any(Emitter& emitter, const std::vector<const Schema*>& schemas, const CallArguments& arguments) {
  return std::any_of(schemas.begin(), schemas.end(), [&](const Schema* schema) {
    return Matcher(emitter, *schema, arguments, false).match() ||
           Matcher(emitter, *schema, arguments, true).match();
  });
}

}  // namespace weft::jit
