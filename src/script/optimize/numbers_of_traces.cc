// Traces compute numbers on tensors without dimensions: int(mul(NumToTensor(size(x, 0)), 2)). A tensor's
// element ends a compiled stretch; what is made of numbers alone is known when the stretch is compiled, as long
// as all that makes it is a part of it.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"

namespace weft::jit {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::Value;

bool is_tensor(const Value* value) { return value->type.script && value->type.script->is(TypeKind::Tensor); }

bool is_number(const Value* value) {
  constexpr TypeKind kNumbers[] = {TypeKind::Int, TypeKind::Float, TypeKind::Bool, TypeKind::Number};
  return value->type.script && std::any_of(std::begin(kNumbers), std::end(kNumbers),
                                           [&](TypeKind kind) { return value->type.script->is(kind); });
}

// Of tensors without dimensions, which nobody writes to: by which node each comes from numbers.
class Chains {
 public:
  bool is_of_numbers(const Value* value) {
    if (const IValue* known = known_constant(value))
      return !known->is_tensor() || (known->to_tensor().defined() && known->to_tensor().dim() == 0);
    if (is_number(value)) return true;
    if (!is_tensor(value)) return false;
    const auto [found, is_new] = known_.try_emplace(value, false);
    if (!is_new) return found->second;
    const bool result = is_made_of_numbers(value);
    return known_[value] = result;
  }

 private:
  bool is_made_of_numbers(const Value* value) {
    const Node* node = value->def;
    const Builtin* const builtin = node ? builtin_of(*node) : nullptr;
    return builtin && builtin->is_pure && node->outputs.size() == 1 && is_only_read(value) &&
           std::all_of(node->inputs.begin(), node->inputs.end(),
                       [&](const Value* input) { return is_of_numbers(input); });
  }

  std::unordered_map<const Value*, bool> known_;
};

// What makes the tensor, in the order in which it is made.
void collect_chain(const Value* value, std::vector<const Node*>& chain) {
  if (!is_tensor(value) || known_constant(value) || std::count(chain.begin(), chain.end(), value->def)) return;
  for (const Value* input : value->def->inputs) collect_chain(input, chain);
  chain.push_back(value->def);
}

}  // namespace

bool reads_numbers(const Node& node) {
  const Builtin* const builtin = builtin_of(node);
  if (!builtin || !builtin->is_pure || node.inputs.empty() || !is_tensor(node.inputs[0]) ||
      node.outputs.size() != 1 || !is_number(node.outputs[0]))
    return false;
  Chains chains;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](const Value* input) { return chains.is_of_numbers(input); });
}

void gather_numbers(Graph& graph) {
  std::vector<Node*> reads;
  ir::for_each_node(graph.body(), [&](Node& node) {
    if (reads_numbers(node)) reads.push_back(&node);
  });
  for (Node* read : reads) {
    std::vector<const Node*> chain;
    collect_chain(read->inputs[0], chain);
    ValueMap values;
    for (const Node* node : chain) {
      for (Value* input : node->inputs) values.try_emplace(input, input);
      copy_node(*node, *read->parent, read, values);
    }
    graph.set_input(read, 0, values.at(read->inputs[0]));
  }
}

}  // namespace weft::jit
