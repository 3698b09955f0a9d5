// Operators on constant tensors, in a module that is frozen: computed once.
#include <algorithm>
#include <optional>
#include <vector>

#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::Value;

// A result may take that much more memory than what it is computed of: a table looked up, not a mask filled
// in.
constexpr int64_t kMostBytes = int64_t{4} << 20;

int64_t bytes_of(const IValue& value) {
  if (value.is_tensor()) {
    const Tensor tensor = value.to_tensor();
    return tensor.defined() ? tensor.numel() * itemsize(tensor.dtype()) : 0;
  }
  int64_t bytes = 0;
  if (value.is_list())
    for (const IValue& element : value.elements()) bytes += bytes_of(element);
  return bytes;
}

bool may_share_memory(const Builtin& builtin) {
  return builtin.text.find("(a", builtin.text.find("->")) != std::string::npos;
}

std::optional<IValue> known_value(const Value* value) {
  if (const IValue* constant = known_constant(value)) return *constant;
  if (!value->def || value->def->script != &prim::kListConstruct || !is_only_read(value)) return std::nullopt;
  std::vector<IValue> elements;
  for (const Value* element : value->def->inputs) {
    std::optional<IValue> known = known_value(element);
    if (!known) return std::nullopt;
    elements.push_back(std::move(*known));
  }
  return IValue::list(value->type.script->element(), std::move(elements));
}

std::optional<IValue> result_of(const Node& node) {
  const Builtin* const builtin = builtin_of(node);
  if (!builtin || !builtin->is_pure || builtin->schema.is_vararg || node.outputs.size() != 1 ||
      !node.outputs[0]->type.script->is(TypeKind::Tensor) || !is_only_read(node.outputs[0]))
    return std::nullopt;
  std::vector<IValue> arguments;
  int64_t bytes = 0;
  for (const Value* input : node.inputs) {
    std::optional<IValue> known = known_value(input);
    if (!known) return std::nullopt;
    bytes += bytes_of(*known);
    arguments.push_back(std::move(*known));
  }
  if (bytes == 0) return std::nullopt;  // no tensor, or nothing in it
  IValue result;
  try {
    builtin->run(arguments, &result);
  } catch (const Error&) {
    return std::nullopt;  // it will be raised when the program runs
  }
  if (!result.is_tensor() || !result.to_tensor().defined() || bytes_of(result) > bytes + kMostBytes)
    return std::nullopt;
  return result;
}

}  // namespace

bool is_only_read(const Value* value) {
  return std::all_of(value->uses.begin(), value->uses.end(), [](const ir::Use& use) {
    if (!use.user) return false;  // it is returned
    const Node& user = *use.user;
    const auto outputs_are_only_read = [&] {
      return std::all_of(user.outputs.begin(), user.outputs.end(), is_only_read);
    };
    if (user.kind == NodeKind::Script && user.script == &prim::kListConstruct) return outputs_are_only_read();
    const Builtin* const builtin = builtin_of(user);
    return builtin && builtin->is_pure && (!may_share_memory(*builtin) || outputs_are_only_read());
  });
}

void fold_constant_tensors(Graph& graph) {
  std::vector<Node*> nodes;
  ir::for_each_node(graph.body(), [&](Node& node) { nodes.push_back(&node); });
  for (Node* node : nodes) {
    std::optional<IValue> result = result_of(*node);
    if (!result) continue;
    Value* const output = node->outputs[0];
    graph.replace_uses(output,
                       add_constant(graph, *node->parent, std::move(*result), output->type.script, node));
    graph.erase(node);
  }
}

}  // namespace weft::jit
