// Nodes and names of the function that is compiled.
#include "script/emit/emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/prim.h"
#include "script/emit/overload.h"
#include "script/program/function.h"
#include "weft/error.h"

namespace weft::jit {

Emitter::Emitter(ir::Graph& graph, CompilationUnit& unit, std::shared_ptr<Resolver> resolver)
    : graph_(graph),
      unit_(unit),
      resolver_(std::move(resolver)),
      root_(std::make_unique<Environment>()),
      frame_(root_.get()) {
  root_->block = &graph.body();
}

Emitter::~Emitter() = default;

// ---- nodes -----------------------------------------------------------------------------------------------
ir::SourceLocation Emitter::location(const Range& range) {
  if (!range.source) return {};
  if (last_source_ != range.source.get()) {
    last_source_ = range.source.get();
    file_ = std::make_shared<const std::string>(range.source->file);
    line_starts_.clear();
    const std::string& text = range.source->text;
    for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
      line_starts_.push_back(at);
  }
  const auto newlines =
      std::lower_bound(line_starts_.begin(), line_starts_.end(), range.begin) - line_starts_.begin();
  return {file_, range.source->first_line + static_cast<int>(newlines)};
}

void Emitter::count_work(const Range& range) {
  constexpr size_t kMost = size_t{1} << 18;
  if (++work_ > kMost)
    syntax_error(
        range,
        fmt::format("the function has more than {} operations: loops over tuples and modules are unrolled",
                    kMost));
}

ir::Node* Emitter::node(const ir::ScriptOp& op, std::vector<ir::Value*> inputs, std::vector<TypePtr> types,
                        const Range& range, ir::ScriptPayload payload) {
  count_work(range);
  std::shared_ptr<const ir::ScriptPayload> shared;
  const bool has_payload =
      &op == &prim::kConstant || !payload.text.empty() || payload.type || payload.function;
  if (has_payload) shared = std::make_shared<const ir::ScriptPayload>(std::move(payload));
  return graph_.add_script_node(block(), op, std::move(inputs), std::move(types), std::move(shared),
                                location(range));
}

ir::Value* Emitter::value(const ir::ScriptOp& op, std::vector<ir::Value*> inputs, TypePtr type,
                          const Range& range, ir::ScriptPayload payload) {
  return node(op, std::move(inputs), {std::move(type)}, range, std::move(payload))->output();
}

ir::Value* Emitter::constant(IValue constant_value, TypePtr type, const Range& range) {
  ir::ScriptPayload payload;
  payload.value = std::move(constant_value);
  return value(prim::kConstant, {}, std::move(type), range, std::move(payload));
}

ir::Value* Emitter::constant(IValue constant_value, const Range& range) {
  TypePtr type = constant_value.type();
  return constant(std::move(constant_value), std::move(type), range);
}

ir::Value* Emitter::uninitialized(TypePtr type, const Range& range) {
  return value(prim::kUninitialized, {}, std::move(type), range);
}

ir::Value* Emitter::retyped(ir::Value* input, const TypePtr& type, const Range& range) {
  if (jit::type_of(input)->equals(*type)) return input;
  return value(prim::kUncheckedCast, {input}, type, range);
}

SugaredPtr Emitter::pack(const ir::Node* node) {
  if (node->outputs.empty()) return std::make_shared<ConstantSugar>(IValue(), Type::none());
  if (node->outputs.size() == 1) return simple(node->outputs[0]);
  std::vector<SugaredPtr> elements;
  for (ir::Value* output : node->outputs) elements.push_back(simple(output));
  return std::make_shared<TupleSugar>(std::move(elements));
}

ir::Value* Emitter::make_tuple(const std::vector<ir::Value*>& values, const Range& range) {
  std::vector<TypePtr> types;
  for (const ir::Value* element : values) types.push_back(jit::type_of(element));
  return value(prim::kTupleConstruct, values, Type::tuple(std::move(types)), range);
}

ir::Value* Emitter::make_list(const TypePtr& element, const std::vector<ir::Value*>& values,
                              const Range& range) {
  return value(prim::kListConstruct, values, Type::list(element), range);
}

std::vector<ir::Value*> Emitter::unpack_tuple(ir::Value* tuple, const Range& range) {
  if (tuple->def && tuple->def->script == &prim::kTupleConstruct) return tuple->def->inputs;
  return node(prim::kTupleUnpack, {tuple}, jit::type_of(tuple)->elements(), range)->outputs;
}

// ---- calls -----------------------------------------------------------------------------------------------
namespace {

std::vector<const Schema*> schemas_of(std::span<const Builtin* const> builtins) {
  std::vector<const Schema*> schemas;
  for (const Builtin* builtin : builtins) schemas.push_back(&builtin->schema);
  return schemas;
}

CallArguments positional(const std::vector<ir::Value*>& values, const Range& range) {
  CallArguments arguments;
  for (ir::Value* value : values) arguments.push_back({"", value, range});
  return arguments;
}

// Tensors given by names that no overload has: where the results are to be written.
CallArguments take_outs(std::span<const Builtin* const> builtins, CallArguments& arguments) {
  CallArguments outs;
  const auto is_out = [&](const CallArgument& argument) {
    if (argument.name.empty() || !type_of(argument.value)->is(TypeKind::Tensor)) return false;
    return std::none_of(builtins.begin(), builtins.end(), [&](const Builtin* builtin) {
      const std::vector<SchemaArgument>& formals = builtin->schema.arguments;
      return std::any_of(formals.begin(), formals.end(), [&](const SchemaArgument& formal) {
        return formal.name == argument.name || (formal.name == "self" && argument.name == "input");
      });
    });
  };
  std::copy_if(arguments.begin(), arguments.end(), std::back_inserter(outs), is_out);
  std::erase_if(arguments, is_out);
  return outs;
}

[[noreturn]] void unknown_builtin(const std::string& name, const Range& range) {
  const std::string bare = name.substr(name.find("::") == std::string::npos ? 0 : name.find("::") + 2);
  std::string similar;
  int found = 0;
  for (const std::string& other : all_builtin_names()) {
    if (bare.size() < 3 || other.find(bare) == std::string::npos || ++found > 5) continue;
    similar += (similar.empty() ? "" : ", ") + other;
  }
  throw UnknownOperator(range.highlight(
      fmt::format("unknown builtin operator {}{}", name, similar.empty() ? "" : "; similar: " + similar)));
}

Overload select_builtin(Emitter& emitter, const std::string& name, std::span<const Builtin* const> builtins,
                        const CallArguments& arguments, const Range& range) {
  try {
    return select_overload(emitter, name, schemas_of(builtins), arguments, range);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Type) throw;
    throw UnknownOperator(error.what());
  }
}

}  // namespace

SugaredPtr Emitter::call_builtin(const std::string& name, const CallArguments& arguments,
                                 const Range& range) {
  const auto builtins = find_builtins(name);
  const auto& functions = function_overloads(name, resolver_->version());
  if (builtins.empty() && functions.empty()) unknown_builtin(name, range);
  CallArguments others = arguments;
  if (const CallArguments outs = take_outs(builtins, others); !outs.empty())
    return call_with_out(name, others, outs, range);
  if (!functions.empty()) {
    std::vector<const Schema*> schemas;
    for (const auto& function : functions) schemas.push_back(&function->schema());
    if (builtins.empty() || fits_any(*this, schemas, arguments))
      return call_function(functions, arguments, range);
  }
  Overload overload = select_builtin(*this, name, builtins, arguments, range);
  return pack(node(*builtins[overload.index], std::move(overload.match.inputs),
                   std::move(overload.match.returns), range));
}

SugaredPtr Emitter::call_with_out(const std::string& name, const CallArguments& arguments,
                                  const CallArguments& outs, const Range& range) {
  const SugaredPtr result = call_builtin(name, arguments, range);
  std::vector<SugaredPtr> parts = {result};
  if (!result->value()) parts = result->as_tuple(*this, range, std::nullopt);
  if (parts.size() != outs.size()) {
    throw UnknownOperator(range.highlight(fmt::format(
        "{} has {} results, which cannot be written to {} tensors", name, parts.size(), outs.size())));
  }
  std::vector<SugaredPtr> written;
  for (size_t i = 0; i < outs.size(); ++i) {
    ir::Value* part = parts[i]->as_value(*this, range);
    ir::Value* resized = builtin("aten::resize_as_", {outs[i].value, part}, range);
    written.push_back(simple(builtin("aten::copy_", {resized, part}, range)));
  }
  return written.size() == 1 ? written[0] : std::make_shared<TupleSugar>(std::move(written));
}

ir::Value* Emitter::builtin(const std::string& name, std::vector<ir::Value*> inputs, const Range& range) {
  return call_builtin(name, positional(inputs, range), range)->as_value(*this, range);
}

bool Emitter::has_builtin_for(const std::string& name, const std::vector<ir::Value*>& inputs) {
  return fits_any(*this, schemas_of(find_builtins(name)), positional(inputs, {}));
}

SugaredPtr Emitter::call_function(const std::vector<std::shared_ptr<Function>>& overloads,
                                  const CallArguments& arguments, const Range& range) {
  std::vector<const Schema*> schemas;
  for (const auto& function : overloads) {
    infer_return_type(*function);
    schemas.push_back(&function->schema());
  }
  Overload chosen = select_overload(*this, overloads[0]->name(), schemas, arguments, range);
  ir::ScriptPayload payload;
  payload.function = overloads[chosen.index];
  return simple(value(prim::kCallFunction, std::move(chosen.match.inputs),
                      payload.function->schema().return_type(), range, payload));
}

SugaredPtr Emitter::call_method(ir::Value* object, const std::string& name, const CallArguments& arguments,
                                const Range& range) {
  const TypePtr& type = jit::type_of(object);
  ir::ScriptPayload payload;
  payload.text = name;
  const Schema* schema = nullptr;
  if (type->is(TypeKind::Interface)) {
    schema = static_cast<const InterfaceType&>(*type).find_method(name);
  } else {
    payload.function = static_cast<const ClassType&>(*type).find_method(name);
    if (payload.function) {
      infer_return_type(*payload.function);
      schema = &payload.function->schema();
    }
  }
  if (!schema) type_error(range, fmt::format("'{}' has no method '{}'", type->str(), name));
  CallArguments all = {{"", object, range}};
  all.insert(all.end(), arguments.begin(), arguments.end());
  Overload chosen = select_overload(*this, name, {schema}, all, range);
  return simple(
      value(prim::kCallMethod, std::move(chosen.match.inputs), schema->return_type(), range, payload));
}

// ---- names -----------------------------------------------------------------------------------------------
SugaredPtr Emitter::find_name(const std::string& name) {
  for (const Environment* frame = frame_; frame; frame = frame->parent) {
    const auto found = frame->names.find(name);
    if (found != frame->names.end()) return found->second.value;
  }
  return nullptr;
}

bool Emitter::has_name(const ir::Value* value) const {
  for (const Environment* frame = frame_; frame; frame = frame->parent)
    for (const auto& [name, entry] : frame->names)
      if (entry.value->value() == value) return true;
  return false;
}

SugaredPtr Emitter::get_name(const std::string& name, const Range& range) {
  SugaredPtr found = find_name(name);
  if (!found) found = resolver_->resolve_value(name, range);
  if (!found) found = resolve_builtin_name(name);
  if (!found) syntax_error(range, fmt::format("undefined name '{}'", name));
  if (const auto* undefined = dynamic_cast<const UndefinedValue*>(found.get())) {
    syntax_error(range, fmt::format("'{}' is not defined on every path that leads here: {}", name,
                                    undefined->reason()));
  }
  return found;
}

void Emitter::set_name(const std::string& name, SugaredPtr value, const Range& range) {
  for (const Environment* frame = frame_; frame; frame = frame->parent) {
    const auto declared = frame->declared.find(name);
    if (declared == frame->declared.end()) continue;
    ir::Value* converted = try_convert(value->as_value(*this, range), declared->second, range, false);
    if (!converted) {
      std::string hint;
      if (declared->second->str() == "List[Tensor]")
        hint = "; an empty list is a List[Tensor] unless its name is annotated";
      type_error(range, fmt::format("'{}' is {} before the loop and is set to {} inside it{}", name,
                                    declared->second->str(),
                                    jit::type_of(value->as_value(*this, range))->str(), hint));
    }
    value = simple(converted);
    break;
  }
  if (const ir::Value* before = value_around(name)) {
    // Where a list was, a tuple becomes one: both paths go on with the same type.
    const TypePtr& type = jit::type_of(before);
    const bool was_list =
        type->is(TypeKind::List) || (type->is(TypeKind::Optional) && type->element()->is(TypeKind::List));
    ir::Value* converted =
        was_list ? try_convert(value->as_value(*this, range), type, range, false) : nullptr;
    if (converted) value = simple(converted);
  }
  frame_->names[name] = {std::move(value), false};
}

const ir::Value* Emitter::value_around(const std::string& name) const {
  for (const Environment* frame = frame_->parent; frame; frame = frame->parent) {
    const auto found = frame->names.find(name);
    if (found != frame->names.end()) return found->second.value->value();
  }
  return nullptr;
}

void Emitter::refine(const Refinements& refinements, const Range& range) {
  for (const auto& [name, type] : refinements) {
    const SugaredPtr found = find_name(name);
    ir::Value* known = found ? found->value() : nullptr;
    if (!known || jit::type_of(known)->equals(*type)) continue;
    frame_->names[name] = {simple(retyped(known, type, range)), true};
  }
}

// ---- small questions -------------------------------------------------------------------------------------
const TypePtr& never_type() {
  static const TypePtr& type = *new TypePtr(Type::variable("$never"));
  return type;
}

bool is_never(const TypePtr& type) { return type == never_type(); }

TypePtr merge_types(const TypePtr& a, const TypePtr& b) {
  if (is_never(a)) return b;
  if (is_never(b)) return a;
  return unify(a, b);
}

const IValue* constant_of(const ir::Value* value) {
  return value->def && value->def->script == &prim::kConstant ? &value->def->payload->value : nullptr;
}

std::optional<int64_t> constant_int(const ir::Value* value) {
  const IValue* constant = constant_of(value);
  if (!constant || !constant->is_int()) return std::nullopt;
  return constant->to_int();
}

bool may_be_none(const TypePtr& type) { return Type::none()->is_subtype_of(*type); }

TypePtr without_none(const TypePtr& type) {
  if (type->is(TypeKind::Optional)) return type->element();
  if (!type->is(TypeKind::Union)) return type;
  std::vector<TypePtr> members = type->elements();
  std::erase_if(members, [](const TypePtr& member) { return member->is(TypeKind::None); });
  return Type::union_of(std::move(members));
}

bool is_number_type(const TypePtr& type) {
  return type->is(TypeKind::Int) || type->is(TypeKind::Float) || type->is(TypeKind::Complex) ||
         type->is(TypeKind::Number) || type->is(TypeKind::Bool);
}

}  // namespace weft::jit
