#include <algorithm>
#include <vector>

#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"
#include "weft/jit/module.h"

namespace weft::jit {
namespace {

using ir::Block;
using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::Value;

void copy_block(const Block& from, Block& to, ValueMap& values) {
  for (const Value* param : from.params) values[param] = to.graph->add_param(to, param->type, param->name);
  copy_nodes(from, to, nullptr, values);
  for (const Value* value : from.returns) to.graph->add_return(to, values.at(value));
}

class Inliner {
 public:
  Inliner(Graph& graph, const std::function<bool(const Function&)>& may_inline)
      : graph_(graph), may_inline_(may_inline) {}

  void run(Block& block) {
    for (auto it = block.nodes.begin(); it != block.nodes.end();) {
      Node& node = **it;
      ++it;
      for (const auto& inner : node.blocks) run(*inner);
      const std::shared_ptr<Function> function = called_function(node);
      const bool recursive = std::find(active_.begin(), active_.end(), function.get()) != active_.end();
      if (!function || recursive || (may_inline_ && !may_inline_(*function))) continue;
      inline_call(node, *function);
    }
  }

 private:
  void inline_call(Node& node, const Function& function) {
    const Graph& body = function.graph();
    Block& block = *node.parent;
    ValueMap values;
    for (size_t i = 0; i < node.inputs.size(); ++i) values[body.inputs()[i]] = node.inputs[i];
    const auto before = node.position;
    const bool first = before == block.nodes.begin();
    Node* previous = first ? nullptr : std::prev(before)->get();
    copy_nodes(body.body(), block, &node, values);
    Node* const begin = previous ? std::next(previous->position)->get() : block.nodes.front().get();
    note_call(*begin, node, function.name());
    if (!node.outputs.empty()) {
      Value* result = body.outputs().empty() ? nullptr : values.at(body.outputs()[0]);
      if (!result) result = add_constant(graph_, block, IValue(), Type::none(), &node);
      graph_.replace_uses(node.outputs[0], result);
    }
    // What was copied may call, too.
    active_.push_back(&function);
    auto it = previous ? std::next(previous->position) : block.nodes.begin();
    while (it->get() != &node) {
      Node& copied = **it;
      ++it;
      for (const auto& inner : copied.blocks) run(*inner);
      const std::shared_ptr<Function> called = called_function(copied);
      const bool recursive = std::find(active_.begin(), active_.end(), called.get()) != active_.end();
      if (called && !recursive && (!may_inline_ || may_inline_(*called))) inline_call(copied, *called);
    }
    active_.pop_back();
    graph_.erase(&node);
  }

  // The nodes from `begin` to `call` get its place as the end of their stack.
  static void note_call(Node& begin, const Node& call, const std::string& function) {
    const auto site = std::make_shared<const ir::InlinedCall>(function, call.location);
    for (auto it = begin.position; it->get() != &call; ++it) note_call(**it, site);
  }
  static void note_call(Node& node, const std::shared_ptr<const ir::InlinedCall>& site) {
    node.location.inlined = appended(node.location.inlined, site);
    for (const auto& block : node.blocks) {
      for (const auto& inner : block->nodes) note_call(*inner, site);
    }
  }
  static std::shared_ptr<const ir::InlinedCall> appended(const std::shared_ptr<const ir::InlinedCall>& calls,
                                                         const std::shared_ptr<const ir::InlinedCall>& last) {
    if (!calls) return last;
    ir::InlinedCall copy = *calls;
    copy.location.inlined = appended(calls->location.inlined, last);
    return std::make_shared<const ir::InlinedCall>(std::move(copy));
  }

  Graph& graph_;
  const std::function<bool(const Function&)>& may_inline_;
  std::vector<const Function*> active_;
};

}  // namespace

std::shared_ptr<Function> called_function(const Node& node) {
  if (node.script != &prim::kCallFunction && node.script != &prim::kCallMethod) return nullptr;
  if (node.payload->function) return node.payload->function;
  const jit::TypePtr& object = node.inputs[0]->type.script;
  if (!object->is(TypeKind::Class)) return nullptr;
  return static_cast<const ClassType&>(*object).find_method(node.payload->text);
}

Node* copy_node(const Node& node, Block& to, Node* before, ValueMap& values) {
  Graph& graph = *to.graph;
  std::vector<Value*> inputs;
  for (const Value* input : node.inputs) inputs.push_back(input ? values.at(input) : nullptr);
  Node* copy = nullptr;
  if (node.kind == NodeKind::Script) {
    copy =
        graph.add_script_node(to, *node.script, std::move(inputs), {}, node.payload, node.location, before);
  } else {
    WEFT_ASSERT(node.kind == NodeKind::If || node.kind == NodeKind::Loop,
                "a script graph has script nodes only");
    copy = graph.add_control(to, node.kind, std::move(inputs), node.location, before);
    for (size_t i = 0; i < node.blocks.size(); ++i) copy_block(*node.blocks[i], *copy->blocks[i], values);
  }
  for (const Value* output : node.outputs) {
    Value* result = graph.add_output(copy, output->type);
    result->name = output->name;
    values[output] = result;
  }
  return copy;
}

void copy_nodes(const Block& from, Block& to, Node* before, ValueMap& values) {
  for (const auto& node : from.nodes) copy_node(*node, to, before, values);
}

void inline_calls(Graph& graph, const std::function<bool(const Function&)>& may_inline) {
  Inliner(graph, may_inline).run(graph.body());
}

}  // namespace weft::jit
