// Compiled stretches give tensors whose strides may differ from those that PyTorch's operators give. A view
// that is not written through may copy where the strides do not let it be one.
#include <algorithm>
#include <unordered_set>

#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"

namespace weft::jit {
namespace {

using ir::Node;
using ir::NodeKind;
using ir::Value;

bool is_call(const Node& node) {
  return node.script == &prim::kCallFunction || node.script == &prim::kCallMethod ||
         node.script == &prim::kFork;
}

const Builtin* builtin_of(const Node* node) {
  if (!node || node->kind != NodeKind::Script || prim::is_constant(node)) return nullptr;
  const auto overloads = find_builtins(node->script->name);
  const auto found = std::find(overloads.begin(), overloads.end(), node->script);
  return found == overloads.end() ? nullptr : *found;
}

bool returns_view(const Builtin& builtin) {
  return builtin.text.find("(a", builtin.text.find("->")) != std::string::npos;
}

// What a chain of views starts from.
const Value* root_of(const Value* value) {
  while (const Builtin* builtin = builtin_of(value->def)) {
    if (!returns_view(*builtin) || value->def->inputs.empty()) break;
    value = value->def->inputs[0];
  }
  return value;
}

}  // namespace

void relax_views(ir::Graph& graph) {
  std::unordered_set<const Value*> written;
  bool has_calls = false;
  ir::for_each_node(graph.body(), [&](Node& node) {
    has_calls |= is_call(node);
    const Builtin* builtin = builtin_of(&node);
    if (!builtin) return;
    const std::vector<SchemaArgument>& formals = builtin->schema.arguments;
    for (size_t i = 0; i < std::min(formals.size(), node.inputs.size()); ++i) {
      if (formals[i].is_written && formals[i].type->is(TypeKind::Tensor))
        written.insert(root_of(node.inputs[i]));
    }
  });
  if (has_calls) return;
  const Builtin* const reshape = find_builtin("aten::reshape");
  ir::for_each_node(graph.body(), [&](Node& node) {
    const Builtin* builtin = builtin_of(&node);
    if (!builtin || builtin->name != "aten::view" || !builtin->overload.empty() || node.inputs.size() != 2)
      return;
    const Value* root = root_of(node.inputs[0]);
    // Of what an operator has made nothing else has the memory; a parameter's or an attribute's may be
    // shared.
    const bool is_new = builtin_of(root->def) != nullptr;
    if (written.empty() || (is_new && !written.contains(root))) node.script = reshape;
  });
}

}  // namespace weft::jit
