// Traces compute numbers on tensors without dimensions: int(mul(NumToTensor(size(x, 0)), 2)). A tensor's
// element ends a compiled stretch; what is made of numbers alone is known when the stretch is compiled, as
// long as all that makes it is a part of it.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
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
  if (!is_tensor(value) || known_constant(value) || std::count(chain.begin(), chain.end(), value->def))
    return;
  for (const Value* input : value->def->inputs) collect_chain(input, chain);
  chain.push_back(value->def);
}

}  // namespace

std::optional<size_t> operand_of_numbers(const Node& node) {
  const Builtin* const builtin = builtin_of(node);
  if (!builtin || !builtin->is_pure || node.inputs.empty() || node.outputs.size() != 1) return std::nullopt;
  const bool repeats = builtin->name == "aten::repeat_interleave" && builtin->overload == "self_Tensor";
  if (!repeats && !is_number(node.outputs[0])) return std::nullopt;
  const size_t operand = repeats ? 1 : 0;
  if (!is_tensor(node.inputs[operand]) || !Chains().is_of_numbers(node.inputs[operand])) return std::nullopt;
  return operand;
}

void gather_numbers(Graph& graph) {
  std::vector<std::pair<Node*, size_t>> reads;
  ir::for_each_node(graph.body(), [&](Node& node) {
    if (const auto operand = operand_of_numbers(node)) reads.emplace_back(&node, *operand);
  });
  for (const auto& [read, operand] : reads) {
    Value* const number = read->inputs[operand];
    if (known_constant(number)) continue;
    std::vector<const Node*> chain;
    collect_chain(number, chain);
    ValueMap values;
    for (const Node* node : chain) {
      for (Value* input : node->inputs) values.try_emplace(input, input);
      copy_node(*node, *read->parent, read, values);
    }
    graph.set_input(read, operand, values.at(number));
  }
}

}  // namespace weft::jit
