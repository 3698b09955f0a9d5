#include "script/emit/sugared.h"

#include <fmt/format.h>

#include "script/builtins/prim.h"
#include "script/emit/emitter.h"

namespace weft::jit {

// ---- defaults --------------------------------------------------------------------------------------------
ir::Value* SugaredValue::as_value(Emitter&, const Range& range) {
  type_error(range, kind() + " cannot be used as a value");
}
SugaredPtr SugaredValue::attribute(Emitter&, const Range& range, const std::string& name) {
  type_error(range, fmt::format("{} has no attribute '{}'", kind(), name));
}
void SugaredValue::set_attribute(Emitter&, const Range& range, const std::string& name, ir::Value*) {
  type_error(range, fmt::format("attribute '{}' of {} cannot be set", name, kind()));
}
SugaredPtr SugaredValue::call_expr(Emitter& emitter, const Range& range, const Expr::Call& call,
                                   const TypePtr&) {
  return this->call(emitter, range, emitter.emit_arguments(call));
}
SugaredPtr SugaredValue::call(Emitter&, const Range& range, const CallArguments&) {
  type_error(range, kind() + " is not callable");
}
SugaredPtr SugaredValue::subscript(Emitter&, const Range& range, ir::Value*) {
  type_error(range, kind() + " has no elements");
}
std::vector<SugaredPtr> SugaredValue::as_tuple(Emitter& emitter, const Range& range, std::optional<size_t>) {
  const Iteration iteration = iterate(emitter, range);
  if (!iteration.unrolled)
    type_error(range, fmt::format("the length of {} is not known when compiling", kind()));
  return *iteration.unrolled;
}
Iteration SugaredValue::iterate(Emitter&, const Range& range) {
  type_error(range, kind() + " cannot be iterated over");
}

// ---- constants -------------------------------------------------------------------------------------------
ConstantSugar::ConstantSugar(IValue constant) : constant_(std::move(constant)), type_(constant_.type()) {}
ir::Value* ConstantSugar::as_value(Emitter& emitter, const Range& range) {
  return emitter.constant(constant_, type_, range);
}
SugaredPtr ConstantSugar::attribute(Emitter& emitter, const Range& range, const std::string& name) {
  return simple(as_value(emitter, range))->attribute(emitter, range, name);
}
SugaredPtr ConstantSugar::subscript(Emitter& emitter, const Range& range, ir::Value* index) {
  return simple(as_value(emitter, range))->subscript(emitter, range, index);
}
std::vector<SugaredPtr> ConstantSugar::as_tuple(Emitter& emitter, const Range& range,
                                                std::optional<size_t> size) {
  return simple(as_value(emitter, range))->as_tuple(emitter, range, size);
}
Iteration ConstantSugar::iterate(Emitter& emitter, const Range& range) {
  return simple(as_value(emitter, range))->iterate(emitter, range);
}

// ---- tuples ----------------------------------------------------------------------------------------------
ir::Value* TupleSugar::as_value(Emitter& emitter, const Range& range) {
  std::vector<ir::Value*> values;
  for (const SugaredPtr& element : elements_) values.push_back(element->as_value(emitter, range));
  return emitter.make_tuple(values, range);
}

SugaredPtr TupleSugar::attribute(Emitter& emitter, const Range& range, const std::string& name) {
  return simple(as_value(emitter, range))->attribute(emitter, range, name);
}

SugaredPtr TupleSugar::subscript(Emitter& emitter, const Range& range, ir::Value* index) {
  const auto known = constant_int(index);
  if (!known) return simple(as_value(emitter, range))->subscript(emitter, range, index);
  const auto count = static_cast<int64_t>(elements_.size());
  if (*known < -count || *known >= count)
    type_error(range, fmt::format("index {} is out of range for {} elements", *known, count));
  return elements_[static_cast<size_t>(*known < 0 ? *known + count : *known)];
}

// ---- functions and methods -------------------------------------------------------------------------------
std::string FunctionSugar::kind() const { return fmt::format("function '{}'", overloads_[0]->name()); }

ir::Value* FunctionSugar::as_value(Emitter& emitter, const Range& range) {
  auto value = std::make_shared<FunctionValue>(FunctionValue{overloads_[0]});
  return emitter.constant(IValue(std::move(value)), Type::function(overloads_[0]), range);
}

SugaredPtr FunctionSugar::call(Emitter& emitter, const Range& range, const CallArguments& arguments) {
  return emitter.call_function(overloads_, arguments, range);
}

SugaredPtr MethodSugar::call(Emitter& emitter, const Range& range, const CallArguments& arguments) {
  return emitter.call_method(object_, name_, arguments, range);
}

// ---- builtins --------------------------------------------------------------------------------------------
namespace {

SugaredPtr raise(Emitter& emitter, const Range& range, const CallArguments& arguments) {
  if (arguments.empty()) type_error(range, "RaiseException needs a message");
  ir::ScriptPayload payload;
  if (arguments.size() > 1) {
    const IValue* name = constant_of(arguments[1].value);
    if (name && name->is_string()) payload.text = name->to_string();
  } else {
    payload.text = "builtins.Exception";
  }
  emitter.node(prim::kRaise, {arguments[0].value}, {}, range, payload);
  return std::make_shared<ConstantSugar>(IValue());
}

std::vector<ir::Value*> values_of(const CallArguments& arguments) {
  std::vector<ir::Value*> values;
  for (const CallArgument& argument : arguments) values.push_back(argument.value);
  return values;
}

ir::Value* unwrap(Emitter& emitter, const Range& range, ir::Value* value) {
  return emitter.retyped(value, without_none(type_of(value)), range);
}

}  // namespace

SugaredPtr BuiltinSugar::call(Emitter& emitter, const Range& range, const CallArguments& arguments) {
  CallArguments all;
  if (self_) all.push_back({"", self_, range});
  all.insert(all.end(), arguments.begin(), arguments.end());
  if (name_ == "prim::RaiseException") return raise(emitter, range, all);
  if (name_ == "aten::format")
    return simple(emitter.value(prim::kFormat, values_of(all), Type::string(), range));
  if (name_ == "prim::Print" || name_ == "prim::print") {
    emitter.node(prim::kPrint, values_of(all), {}, range);
    return std::make_shared<ConstantSugar>(IValue());
  }
  if (name_ == "prim::unchecked_unwrap_optional" && all.size() == 1)
    return simple(unwrap(emitter, range, all[0].value));
  return emitter.call_builtin(name_, all, range);
}

SugaredPtr BuiltinSugar::call_expr(Emitter& emitter, const Range& range, const Expr::Call& call,
                                   const TypePtr& hint) {
  // Forms whose operands are types, spelt as operators in archives.
  static const char* const kForms[] = {"unchecked_cast", "annotate", "uninitialized",
                                       "isinstance",     "fork",     "rpc_async"};
  const std::string bare = name_.substr(name_.find("::") + 2);
  for (const char* form : kForms) {
    if (self_ || bare != form) continue;
    if (const SugaredPtr special = resolve_builtin_name(form))
      return special->call_expr(emitter, range, call, hint);
  }
  return this->call(emitter, range, emitter.emit_arguments(call));
}

// ---- classes ---------------------------------------------------------------------------------------------
SugaredPtr ClassSugar::call(Emitter& emitter, const Range& range, const CallArguments& arguments) {
  if (type_->is(TypeKind::Tuple)) return construct_named_tuple(emitter, range, arguments);
  if (type_->is(TypeKind::Enum))
    type_error(range, fmt::format("the members of {} are named, not called: {}.NAME", kind(), type_->name()));
  if (!type_->is(TypeKind::Class)) type_error(range, kind() + " cannot be constructed");
  ir::ScriptPayload payload;
  payload.type = type_;
  ir::Value* object = emitter.value(prim::kCreateObject, {}, type_, range, payload);
  if (static_cast<const ClassType&>(*type_).find_method("__init__")) {
    emitter.call_method(object, "__init__", arguments, range);
  } else if (!arguments.empty()) {
    type_error(range, kind() + " has no __init__ and takes no arguments");
  }
  return simple(object);
}

SugaredPtr ClassSugar::construct_named_tuple(Emitter& emitter, const Range& range,
                                             const CallArguments& arguments) {
  const auto& fields = type_->fields();
  const auto* named = dynamic_cast<const NamedTupleType*>(type_.get());
  const size_t defaults = named ? named->defaults().size() : 0;
  Schema schema;
  schema.name = type_->name();
  for (size_t i = 0; i < fields.size(); ++i) {
    SchemaArgument argument;
    argument.name = fields[i];
    argument.type = type_->elements()[i];
    if (i + defaults >= fields.size())
      argument.default_value = named->defaults()[i + defaults - fields.size()];
    schema.arguments.push_back(std::move(argument));
  }
  return simple(
      emitter.value(prim::kTupleConstruct, emitter.match_call(schema, arguments, range), type_, range));
}

SugaredPtr ClassSugar::constant_member(const std::string& name) const {
  if (type_->is(TypeKind::Enum)) {
    for (const auto& [member, value] : static_cast<const EnumType&>(*type_).members()) {
      if (member != name) continue;
      auto constant = std::make_shared<EnumValue>(EnumValue{type_, member, value});
      return std::make_shared<ConstantSugar>(IValue(std::move(constant)), type_);
    }
  } else if (type_->is(TypeKind::Class)) {
    const IValue* constant = static_cast<const ClassType&>(*type_).find_constant(name);
    if (constant) return std::make_shared<ConstantSugar>(*constant);
  }
  return nullptr;
}

namespace {

// C.__new__(C), as archives write the making of an object; its __init__ is called by itself.
class NewSugar final : public SugaredValue {
 public:
  explicit NewSugar(TypePtr type) : type_(std::move(type)) {}
  std::string kind() const override { return "method '__new__'"; }
  SugaredPtr call_expr(Emitter& emitter, const Range& range, const Expr::Call&, const TypePtr&) override {
    ir::ScriptPayload payload;
    payload.type = type_;
    return simple(emitter.value(prim::kCreateObject, {}, type_, range, payload));
  }

 private:
  TypePtr type_;
};

}  // namespace

SugaredPtr ClassSugar::attribute(Emitter& emitter, const Range& range, const std::string& name) {
  if (SugaredPtr constant = constant_member(name)) return constant;
  if (type_->is(TypeKind::Class)) {
    const auto& type = static_cast<const ClassType&>(*type_);
    if (name == "__new__") return std::make_shared<NewSugar>(type_);
    if (const auto method = type.find_static_method(name))
      return std::make_shared<FunctionSugar>(std::vector{method});
    if (const auto method = type.find_method(name))
      return std::make_shared<FunctionSugar>(std::vector{method});
  }
  return SugaredValue::attribute(emitter, range, name);
}

Iteration ClassSugar::iterate(Emitter& emitter, const Range& range) {
  if (!type_->is(TypeKind::Enum)) return SugaredValue::iterate(emitter, range);
  std::vector<SugaredPtr> members;
  for (const auto& [name, value] : static_cast<const EnumType&>(*type_).members())
    members.push_back(attribute(emitter, range, name));
  return {.unrolled = std::move(members), .length = nullptr, .element = {}};
}

SugaredPtr NamespaceSugar::attribute(Emitter& emitter, const Range& range, const std::string& name) {
  if (SugaredPtr member = resolve_namespace_member(path_, name)) return member;
  return SugaredValue::attribute(emitter, range, name);
}

}  // namespace weft::jit
