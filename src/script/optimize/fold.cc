// Constants, dead code and dropout in TorchScript's graphs.
#include <algorithm>

#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using ir::Block;
using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::Value;

bool is_prim(const ir::ScriptOp* op) {
  using namespace prim;
  const ir::ScriptOp* const all[] = {
      &kConstant,   &kUninitialized, &kGetAttr,       &kSetAttr,        &kCreateObject, &kCallFunction,
      &kCallMethod, &kListConstruct, &kDictConstruct, &kTupleConstruct, &kTupleUnpack,  &kTupleIndex,
      &kTupleSlice, &kListUnpack,    &kIsInstance,    &kUncheckedCast,  &kCast,         &kRaise,
      &kFork,       &kPrint,         &kFormat,        &kEnumName,       &kEnumValue};
  return std::find(std::begin(all), std::end(all), op) != std::end(all);
}

// Numbers, strings, None: what is the same wherever it is made.
bool is_plain(const IValue& value) {
  if (value.is(IValue::Tag::Tuple))
    return std::all_of(value.elements().begin(), value.elements().end(), is_plain);
  return value.is_none() || value.is_number() || value.is_string() || value.is(IValue::Tag::Device) ||
         value.is(IValue::Tag::Enum);
}

// A list of plain values that nobody may change: one that only pure builtins read.
bool is_read_only(const Value* value) {
  return std::all_of(value->uses.begin(), value->uses.end(), [](const ir::Use& use) {
    const Builtin* const builtin = use.user ? builtin_of(*use.user) : nullptr;
    return builtin && builtin->is_pure;
  });
}

void replace(Graph& graph, Node& node, Value* value) {
  graph.replace_uses(node.outputs[0], value);
  graph.erase(&node);
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph) {}
  bool changed = false;

  void run(Block& block) {
    for (auto it = block.nodes.begin(); it != block.nodes.end();) {
      Node& node = **it;
      ++it;
      for (const auto& inner : node.blocks) run(*inner);
      if (node.kind == NodeKind::If)
        changed |= fold_if(node);
      else if (node.kind == NodeKind::Script)
        changed |= fold_node(node);
    }
  }

 private:
  bool fold_if(Node& node) {
    const IValue* condition = known_constant(node.inputs[0]);
    if (!condition) return false;
    const Block& taken = *node.blocks[condition->to_bool() ? 0 : 1];
    ValueMap values;
    // What the branch uses from outside stays as it is.
    const std::function<void(const Block&)> add_outer = [&](const Block& block) {
      for (const auto& inner : block.nodes) {
        for (Value* input : inner->inputs) {
          if (input) values.try_emplace(input, input);
        }
        for (const auto& nested : inner->blocks) add_outer(*nested);
      }
      for (Value* value : block.returns) values.try_emplace(value, value);
    };
    add_outer(taken);
    copy_nodes(taken, *node.parent, &node, values);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      graph_.replace_uses(node.outputs[i], values.at(taken.returns[i]));
    graph_.erase(&node);
    return true;
  }

  bool fold_node(Node& node) {
    if (node.script == &prim::kTupleUnpack && made_by(node.inputs[0], prim::kTupleConstruct)) {
      const Node& tuple = *node.inputs[0]->def;
      for (size_t i = 0; i < node.outputs.size(); ++i) graph_.replace_uses(node.outputs[i], tuple.inputs[i]);
      graph_.erase(&node);
      return true;
    }
    if (node.outputs.size() != 1) return false;
    if (node.script == &prim::kTupleIndex && made_by(node.inputs[0], prim::kTupleConstruct)) {
      const IValue* index = known_constant(node.inputs[1]);
      const std::vector<Value*>& elements = node.inputs[0]->def->inputs;
      if (!index) return false;
      const int64_t at =
          index->to_int() < 0 ? index->to_int() + static_cast<int64_t>(elements.size()) : index->to_int();
      if (at < 0 || at >= static_cast<int64_t>(elements.size())) return false;
      replace(graph_, node, elements[static_cast<size_t>(at)]);
      return true;
    }
    if (node.script == &prim::kUncheckedCast &&
        node.inputs[0]->type.script->is_subtype_of(*node.outputs[0]->type.script)) {
      replace(graph_, node, node.inputs[0]);
      return true;
    }
    if (node.script == &prim::kUncheckedCast) {
      if (const IValue* value = known_constant(node.inputs[0]); value && is_plain(*value))
        return become(node, *value);
      return false;
    }
    if (is_prim(node.script)) return false;
    return fold_builtin(node);
  }

  static bool made_by(const Value* value, const ir::ScriptOp& op) {
    return value->def && value->def->script == &op;
  }

  bool become(Node& node, IValue value) {
    const jit::TypePtr type = node.outputs[0]->type.script;
    replace(graph_, node, add_constant(graph_, *node.parent, std::move(value), type, &node));
    return true;
  }

  bool fold_builtin(Node& node) {
    const auto& builtin = static_cast<const Builtin&>(*node.script);
    // A tensor that is there is not None.
    if ((builtin.name == "aten::__is__" || builtin.name == "aten::__isnot__") && node.inputs.size() == 2)
      return fold_identity(node, builtin);
    if (!builtin.is_pure || builtin.schema.is_vararg) return false;
    std::vector<IValue> arguments;
    for (const Value* input : node.inputs) {
      std::optional<IValue> known = known_value(input);
      if (!known) return false;
      arguments.push_back(std::move(*known));
    }
    IValue result;
    try {
      builtin.run(arguments, &result);
    } catch (const Error&) {
      return false;  // it will be raised when the program runs
    }
    return is_plain(result) && become(node, std::move(result));
  }

  bool fold_identity(Node& node, const Builtin& builtin) {
    const bool wanted = builtin.name == "aten::__is__";
    for (size_t i = 0; i < 2; ++i) {
      const IValue* none = known_constant(node.inputs[1 - i]);
      if (!none || !none->is_none()) continue;
      const IValue* value = known_constant(node.inputs[i]);
      const TypeKind kind = node.inputs[i]->type.script->kind();
      if (value) return become(node, value->is_none() == wanted);
      if (kind != TypeKind::Optional && kind != TypeKind::None && kind != TypeKind::Union &&
          kind != TypeKind::Any)
        return become(node, !wanted);
    }
    return false;
  }

  // A constant without tensors, or a list of constants that is only read.
  std::optional<IValue> known_value(const Value* value) {
    if (const IValue* constant = known_constant(value)) {
      if (is_plain(*constant)) return *constant;
      if (constant->is_list() && is_read_only(value) &&
          std::all_of(constant->elements().begin(), constant->elements().end(), is_plain))
        return *constant;
      return std::nullopt;
    }
    if (!made_by(value, prim::kListConstruct) || !is_read_only(value)) return std::nullopt;
    std::vector<IValue> elements;
    for (const Value* element : value->def->inputs) {
      const IValue* constant = known_constant(element);
      if (!constant || !is_plain(*constant)) return std::nullopt;
      elements.push_back(*constant);
    }
    return IValue::list(value->type.script->element(), std::move(elements));
  }

  Graph& graph_;
};

bool has_effect(const Block& block) {
  return std::any_of(block.nodes.begin(), block.nodes.end(),
                     [](const auto& node) { return !is_pure(*node); });
}

bool remove_dead(Graph& graph, Block& block) {
  bool changed = false;
  for (auto it = block.nodes.end(); it != block.nodes.begin();) {
    Node& node = **--it;
    for (const auto& inner : node.blocks) changed |= remove_dead(graph, *inner);
    const bool used = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [](const Value* output) { return !output->uses.empty(); });
    if (used || !is_pure(node)) continue;
    ++it;
    graph.erase(&node);
    changed = true;
  }
  return changed;
}

}  // namespace

bool is_pure(const Node& node) {
  if (node.kind == NodeKind::If) return !has_effect(*node.blocks[0]) && !has_effect(*node.blocks[1]);
  if (node.kind == NodeKind::Loop) return false;  // it might not end
  using namespace prim;
  const ir::ScriptOp* const effects[] = {&kSetAttr, &kCallFunction, &kCallMethod, &kCast,      &kRaise,
                                         &kFork,    &kPrint,        &kListUnpack, &kTupleIndex};
  if (std::find(std::begin(effects), std::end(effects), node.script) != std::end(effects)) return false;
  return is_prim(node.script) || static_cast<const Builtin*>(node.script)->is_pure;
}

const Builtin* builtin_of(const Node& node) {
  if (node.kind != NodeKind::Script || is_prim(node.script)) return nullptr;
  return static_cast<const Builtin*>(node.script);
}

const IValue* known_constant(const Value* value) {
  return value->def && value->def->script == &prim::kConstant ? &value->def->payload->value : nullptr;
}

Value* add_constant(Graph& graph, Block& block, IValue value, const jit::TypePtr& type, Node* before) {
  auto payload = std::make_shared<ir::ScriptPayload>();
  payload->value = std::move(value);
  return graph.add_script_node(block, prim::kConstant, {}, {type}, std::move(payload), {}, before)->output();
}

void fold_script_constants(Graph& graph) {
  for (bool changed = true; changed;) {
    Folder folder(graph);
    folder.run(graph.body());
    changed = folder.changed;
  }
}

void remove_dead_nodes(Graph& graph) {
  while (remove_dead(graph, graph.body())) {
  }
}

void remove_dropout(Graph& graph) {
  std::vector<Node*> found;
  ir::for_each_node(graph.body(), [&](Node& node) {
    const bool dropout = node.is("aten::dropout") || node.is("aten::feature_dropout") ||
                         node.is("aten::alpha_dropout") || node.is("aten::feature_alpha_dropout");
    if (!dropout || node.inputs.size() != 3) return;
    const IValue* training = known_constant(node.inputs[2]);
    if (training && training->is_bool() && !training->to_bool()) found.push_back(&node);
  });
  for (Node* node : found) replace(graph, *node, node->inputs[0]);
}

}  // namespace weft::jit
