#include "script/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/aten.h"
#include "script/builtins/prim.h"
#include "script/emit/overload.h"
#include "script/optimize/graph_passes.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using RunValues = std::unordered_map<const ir::Value*, IValue>;

bool is_update(const Builtin& builtin) {
  return std::any_of(builtin.schema.arguments.begin(), builtin.schema.arguments.end(),
                     [](const SchemaArgument& argument) { return argument.is_written; });
}

std::vector<IValue> operands(const ir::Node& node, const RunValues& values) {
  std::vector<IValue> result;
  for (const ir::Value* input : node.inputs) result.push_back(values.at(input));
  return result;
}

IValue make_tuple_value(const ir::Node& node, std::vector<IValue> values) {
  const TypePtr& type = node.outputs[0]->type.script;
  return type->name().empty() ? IValue::tuple(std::move(values))
                              : IValue::named_tuple(type, std::move(values));
}

std::vector<IValue> call_builtin(const Builtin& builtin, std::vector<IValue> arguments, size_t num_results) {
  std::vector<IValue> results(std::max<size_t>(num_results, 1));
  builtin.run(arguments, results.data());
  results.resize(num_results);
  return results;
}

// What the interpreter does for a node that recording adds.
std::vector<IValue> execute(const ir::Node& node, const RunValues& values) {
  std::vector<IValue> inputs = operands(node, values);
  if (node.script == &prim::kConstant) return {node.payload->value};
  if (node.script == &prim::kListConstruct) {
    return {IValue::list(node.outputs[0]->type.script->element(), std::move(inputs))};
  }
  if (node.script == &prim::kTupleConstruct) return {make_tuple_value(node, std::move(inputs))};
  if (node.script == &prim::kTupleUnpack || node.script == &prim::kListUnpack) return inputs[0].elements();
  if (node.script == &prim::kUncheckedCast) return inputs;
  if (node.script == &prim::kCallFunction || node.script == &prim::kCallMethod) {
    IValue result = (*node.payload->function)(std::move(inputs));
    return {std::move(result)};
  }
  return call_builtin(static_cast<const Builtin&>(*node.script), std::move(inputs), node.outputs.size());
}

bool is_call(const ir::Node& node) {
  return node.script == &prim::kCallFunction || node.script == &prim::kCallMethod;
}

}  // namespace

Trace::Trace(std::shared_ptr<CompilationUnit> unit, std::shared_ptr<TracedModules> modules)
    : unit_(std::move(unit)),
      modules_(std::move(modules)),
      graph_(std::make_unique<ir::Graph>("trace")),
      emitter_(*graph_, *unit_, builtin_resolver()) {}

// ---- where recording is ----------------------------------------------------------------------------------
void Trace::set_location(const std::string& file, int line) {
  if (!location_.file || *location_.file != file) location_.file = std::make_shared<const std::string>(file);
  location_.line = line;
}

void Trace::enter(size_t module) {
  scopes_.push_back({scope_, module});
  scope_ = scopes_.size() - 1;
}

void Trace::leave() {
  WEFT_ASSERT(scope_ != 0, "trace: a module's call ends that never began");
  scope_ = scopes_[scope_].parent;
}

ir::Node* Trace::last_node() {
  auto& nodes = graph_->body().nodes;
  return nodes.empty() ? nullptr : nodes.back().get();
}

void Trace::note_nodes() {
  auto& nodes = graph_->body().nodes;
  auto it = last_noted_ ? std::next(last_noted_->position) : nodes.begin();
  for (; it != nodes.end(); ++it) {
    (*it)->location = location_;
    node_scopes_[it->get()] = scope_;
    last_noted_ = it->get();
  }
}

// ---- values ----------------------------------------------------------------------------------------------
void Trace::bind(const Tensor& tensor, ir::Value* value) {
  known_[tensor.impl().get()] = {tensor.impl(), value};
  forms_.try_emplace(value, TensorForm{tensor.dtype(), tensor.device(), tensor.shape(), tensor.strides(),
                                       tensor.offset()});
}

const TensorForm* Trace::form(const ir::Value* value) const {
  const auto found = forms_.find(value);
  return found == forms_.end() ? nullptr : &found->second;
}

std::span<const TracedModules::Place> Trace::places(const ir::Value* value) const {
  const auto found = attributes_.find(value);
  return found == attributes_.end() ? std::span<const TracedModules::Place>() : found->second;
}

Traced Trace::add_input(const std::string& name, const IValue& example) {
  ir::Value* value = graph_->add_param(graph_->body(), {ir::Type::Kind::Script, {}, example.type()}, name);
  inputs_.push_back(value);
  return bind_input(example, value);
}

void Trace::add_closure(const std::string& name, const Tensor& tensor) {
  ir::Value* value =
      graph_->add_param(graph_->body(), {ir::Type::Kind::Script, {}, IValue(tensor).type()}, name);
  inputs_.push_back(value);
  bind(tensor, value);
}

Traced Trace::bind_input(const IValue& example, ir::Value* value) {
  switch (example.tag()) {
    case IValue::Tag::Tensor: {
      const Tensor own = aten::alias(example.to_tensor());
      bind(own, value);
      return {own, value};
    }
    case IValue::Tag::Tuple:
    case IValue::Tag::List: {
      const std::vector<IValue>& elements = example.elements();
      std::vector<TypePtr> types;
      for (const IValue& element : elements)
        types.push_back(example.is_list() ? type_of(value)->element() : element.type());
      const ir::ScriptOp& op = example.is_list() ? prim::kListUnpack : prim::kTupleUnpack;
      const ir::Node* node = emitter_.node(op, {value}, types, range_);
      note_nodes();
      std::vector<IValue> own;
      for (size_t i = 0; i < elements.size(); ++i)
        own.push_back(bind_input(elements[i], node->outputs[i]).now);
      return {example.is_list() ? IValue::list(type_of(value)->element(), std::move(own))
                                : IValue::tuple(std::move(own)),
              value};
    }
    case IValue::Tag::Dict: {
      IValue own = IValue::dict(example.to_dict()->key, example.to_dict()->value);
      for (const auto& [key, item] : example.to_dict()->items()) {
        ir::Value* found =
            emitter_.builtin("aten::__getitem__", {value, emitter_.constant(key, range_)}, range_);
        note_nodes();
        own.to_dict()->set(key, bind_input(item, found).now);
      }
      return {own, value};
    }
    default: break;
  }
  throw_error(
      ErrorKind::Type,
      fmt::format(
          "weft.jit.trace: input '{}': expected tensors, or lists, tuples and dictionaries of them, got {}",
          value->name, example.type()->str()));
}

Traced Trace::constant(IValue value) {
  ir::Value* made = emitter_.constant(value, range_);
  note_nodes();
  return {std::move(value), made};
}

ir::Value* Trace::attribute(TracedModules::Place place, const TypePtr& type) {
  ir::Value* value = graph_->add_param(graph_->body(), {ir::Type::Kind::Script, {}, type}, place.name);
  attributes_[value] = {std::move(place)};
  return value;
}

Traced Trace::tensor(const Tensor& tensor) {
  if (!tensor.defined()) return constant(IValue());
  const TensorImpl* key = tensor.impl().get();
  const auto known = known_.find(key);
  if (known != known_.end() && !known->second.tensor.expired()) return {tensor, known->second.value};
  const auto places = modules_ ? modules_->places(key) : std::span<const TracedModules::Place>();
  if (places.empty()) {
    const Traced made = constant(tensor);
    bind(tensor, made.value);
    return made;
  }
  ir::Value* value = attribute(places[0], Type::tensor());
  attributes_[value].assign(places.begin(), places.end());
  bind(tensor, value);
  return {tensor, value};
}

bool Trace::is_computed(const Tensor& tensor) const {
  const auto known = known_.find(tensor.impl().get());
  if (known == known_.end() || known->second.tensor.expired()) return false;
  const ir::Value* value = known->second.value;
  return constant_of(value) == nullptr && !attributes_.contains(value);
}

Traced Trace::list(std::vector<Traced> elements) {
  TypePtr element;
  std::vector<ir::Value*> values;
  std::vector<IValue> now;
  for (Traced& item : elements) {
    const TypePtr& type = type_of(item.value);
    element = element ? unify(element, type) : type;
    WEFT_CHECK_TYPE(
        element,
        fmt::format("weft.jit.trace: a list of {} and other types has no type in TorchScript", type->str()));
    values.push_back(item.value);
    now.push_back(std::move(item.now));
  }
  if (!element) element = Type::tensor();
  ir::Value* made = emitter_.make_list(element, values, range_);
  note_nodes();
  return {IValue::list(element, std::move(now)), made};
}

Traced Trace::tuple(std::vector<Traced> elements) {
  std::vector<ir::Value*> values;
  std::vector<IValue> now;
  for (Traced& item : elements) {
    values.push_back(item.value);
    now.push_back(std::move(item.now));
  }
  ir::Value* made = emitter_.make_tuple(values, range_);
  note_nodes();
  return {IValue::tuple(std::move(now)), made};
}

Traced Trace::dict(std::vector<std::pair<Traced, Traced>> items) {
  WEFT_CHECK_TYPE(!items.empty(), "weft.jit.trace: an empty dictionary has no type");
  const TypePtr key = type_of(items[0].first.value), value = type_of(items[0].second.value);
  std::vector<ir::Value*> values;
  IValue now = IValue::dict(key, value);
  for (auto& [item_key, item] : items) {
    WEFT_CHECK_TYPE(type_of(item.value)->equals(*value),
                    fmt::format("weft.jit.trace: a dictionary of {} and {} has no type in TorchScript",
                                value->str(), type_of(item.value)->str()));
    values.push_back(item_key.value);
    values.push_back(item.value);
    now.to_dict()->set(std::move(item_key.now), std::move(item.now));
  }
  ir::Value* made = emitter_.value(prim::kDictConstruct, values, Type::dict(key, value), range_);
  note_nodes();
  return {std::move(now), made};
}

// ---- operations ------------------------------------------------------------------------------------------
// What runs a program takes some constants for numbers, which promote otherwise (is_number_constant): one
// that was a tensor in this run passes through an operator.
ir::Value* Trace::kept_tensor(ir::Value* value) {
  return is_number_constant(value) ? emitter_.builtin("aten::detach", {value}, range_) : value;
}

CallArguments Trace::call_arguments(const std::vector<Argument>& arguments) const {
  CallArguments result;
  for (const Argument& argument : arguments) result.push_back({argument.name, argument.value.value, range_});
  return result;
}

CallArguments Trace::kept_tensors(CallArguments arguments) {
  for (auto& argument : arguments) argument.value = kept_tensor(argument.value);
  return arguments;
}

std::vector<Traced> Trace::call(const std::string& name, const std::vector<Argument>& arguments) {
  std::vector<const Schema*> schemas;
  const bool is_exact = name.find('.') != std::string::npos;
  const Builtin* const one = is_exact ? find_builtin(name) : nullptr;
  const std::vector<const Builtin*> builtins =
      one ? std::vector{one}
          : std::vector<const Builtin*>(find_builtins(name).begin(), find_builtins(name).end());
  WEFT_ASSERT(!builtins.empty(), fmt::format("trace: no builtin '{}'", name));
  for (const Builtin* builtin : builtins) schemas.push_back(&builtin->schema);
  ir::Node* const before = last_node();
  Overload chosen = select_overload(emitter_, name, schemas, call_arguments(arguments), range_);
  return add_call(*builtins[chosen.index], std::move(chosen.match), before, arguments);
}

std::vector<Traced> Trace::call(const Builtin& builtin, const std::vector<Argument>& arguments) {
  ir::Node* const before = last_node();
  Overload chosen =
      select_overload(emitter_, builtin.qualified, {&builtin.schema}, call_arguments(arguments), range_);
  return add_call(builtin, std::move(chosen.match), before, arguments);
}

std::vector<Traced> Trace::add_call(const Builtin& builtin, SchemaMatch match, ir::Node* before,
                                    const std::vector<Argument>& arguments) {
  if (takes_number(builtin)) match.inputs[1] = kept_tensor(match.inputs[1]);
  emitter_.node(builtin, std::move(match.inputs), std::move(match.returns), range_);
  RunValues known;
  for (const Argument& argument : arguments) known[argument.value.value] = argument.value.now;
  return run_new_nodes(before, std::move(known));
}

Traced Trace::call_function(std::shared_ptr<Function> function, const std::vector<Argument>& arguments) {
  ir::Node* const before = last_node();
  emitter_.call_function({std::move(function)}, kept_tensors(call_arguments(arguments)), range_);
  RunValues known;
  for (const Argument& argument : arguments) known[argument.value.value] = argument.value.now;
  return run_new_nodes(before, std::move(known)).at(0);
}

Traced Trace::call_method(size_t module, const std::string& method, const std::vector<Argument>& arguments) {
  const std::shared_ptr<Object>& object = modules_->object(module);
  ir::Value*& value = script_modules_[module];
  if (!value) value = attribute({module, ""}, object->type);
  ir::Node* const before = last_node();
  emitter_.call_method(value, method, kept_tensors(call_arguments(arguments)), range_);
  RunValues known = {{value, object}};
  for (const Argument& argument : arguments) known[argument.value.value] = argument.value.now;
  return run_new_nodes(before, std::move(known)).at(0);
}

std::vector<Traced> Trace::run_new_nodes(ir::Node* last_before, RunValues known) {
  auto& nodes = graph_->body().nodes;
  note_nodes();
  std::vector<Traced> results;
  for (auto it = last_before ? std::next(last_before->position) : nodes.begin(); it != nodes.end(); ++it) {
    const ir::Node& node = **it;
    std::vector<IValue> values = execute(node, known);
    const bool is_last = std::next(it) == nodes.end();
    if (!is_last) {
      for (size_t i = 0; i < values.size(); ++i) known[node.outputs[i]] = std::move(values[i]);
      continue;
    }
    const bool keeps = is_call(node) || is_update(static_cast<const Builtin&>(*node.script));
    for (size_t i = 0; i < values.size(); ++i)
      results.push_back(result(std::move(values[i]), node.outputs[i], known, keeps));
    break;
  }
  return results;
}

// Tensors of a result become known; lists and tuples are taken apart for that.
Traced Trace::result(IValue now, ir::Value* value, const RunValues& known, bool is_update) {
  if (now.is_tensor() && now.to_tensor().defined()) {
    // x.contiguous() may give x itself, which keeps its own value.
    const auto is_operand = [&](const auto& item) {
      return item.second.is_tensor() && item.second.to_tensor().impl() == now.to_tensor().impl();
    };
    const bool is_alias = !is_update && std::any_of(known.begin(), known.end(), is_operand);
    if (is_alias) now = aten::alias(now.to_tensor());
    bind(now.to_tensor(), value);
    return {std::move(now), value};
  }
  const bool is_list =
      now.is_list() && type_of(value)->is(TypeKind::List) && type_of(value)->element()->is(TypeKind::Tensor);
  if (!is_list && !now.is(IValue::Tag::Tuple)) return {std::move(now), value};
  const std::vector<IValue>& elements = now.elements();
  std::vector<TypePtr> types;
  for (size_t i = 0; i < elements.size(); ++i)
    types.push_back(is_list ? Type::tensor() : type_of(value)->elements()[i]);
  const ir::Node* node =
      emitter_.node(is_list ? prim::kListUnpack : prim::kTupleUnpack, {value}, types, range_);
  note_nodes();
  std::vector<IValue> own;
  for (size_t i = 0; i < elements.size(); ++i)
    own.push_back(result(elements[i], node->outputs[i], known, is_update).now);
  return {is_list ? IValue::list(Type::tensor(), std::move(own)) : IValue::tuple(std::move(own)), value};
}

}  // namespace weft::jit
