// Constants that are numbers. A trace of PyTorch's holds the number of `x - 80.0` as a tensor without
// dimensions, and PyTorch's executor takes the second operand of four operators as a number where it is such
// a constant (canonicalize_ops.cpp), after calls have been inlined and before constants are folded: a number
// leaves the dtype of `x` as it is, also where `x` has no dimensions.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"
#include "weft/jit/module.h"

namespace weft::jit {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::Value;

// With PyTorch's other names for them (normalize_ops.cpp).
constexpr std::array<std::string_view, 8> kTakesNumber = {
    "aten::add",      "aten::sub",      "aten::mul",    "aten::div",
    "aten::subtract", "aten::multiply", "aten::divide", "aten::true_divide"};

// Then it is a builtin; not everything that is named "aten::…" is (prim::kFormat).
bool is_named_so(const ir::ScriptOp& op) {
  return std::find(kTakesNumber.begin(), kTakesNumber.end(), op.name) != kTakesNumber.end();
}

}  // namespace

bool is_number_constant(const Value* value) {
  const IValue* constant = known_constant(value);
  if (!constant || !constant->is_tensor() || !constant->to_tensor().defined()) return false;
  const Tensor& tensor = constant->to_tensor();
  // A tensor of a truth value promotes as the truth value does, and PyTorch takes no complex number here.
  const DType dtype = tensor.dtype();
  return tensor.dim() == 0 && tensor.device() == Device() && !tensor.is_traced() && dtype != DType::Bool &&
         !is_complex(dtype) && dtype != DType::U64;
}

bool takes_number(const Builtin& builtin) { return is_named_so(builtin) && builtin.overload == "Tensor"; }

namespace {

// An operator whose second operand is a number's constant.
bool takes_constant(const Node& node) {
  return node.kind == NodeKind::Script && node.inputs.size() > 1 && is_named_so(*node.script) &&
         takes_number(static_cast<const Builtin&>(*node.script)) && is_number_constant(node.inputs[1]);
}

bool has_number(const Graph& graph) {
  bool found = false;
  ir::for_each_node(graph.body(), [&](const Node& node) {
    found |=
        node.kind == NodeKind::Script && node.script == &prim::kConstant && is_number_constant(node.output());
  });
  return found;
}

// Functions that are given such a constant become part of the graph.
void inline_calls_of_numbers(Graph& graph) {
  std::unordered_set<const Function*> known;
  for (bool is_new = true; is_new;) {
    is_new = false;
    ir::for_each_node(graph.body(), [&](Node& node) {
      if (!std::any_of(node.inputs.begin(), node.inputs.end(), is_number_constant)) return;
      const std::shared_ptr<Function> function = called_function(node);
      is_new |= function && known.insert(function.get()).second;
    });
    if (is_new) inline_calls(graph, [&](const Function& function) { return known.contains(&function); });
  }
}

}  // namespace

void replace_number_constants(Graph& graph) {
  std::vector<Node*> nodes;
  ir::for_each_node(graph.body(), [&](Node& node) {
    if (takes_constant(node)) nodes.push_back(&node);
  });
  for (Node* node : nodes) {
    const Scalar number = known_constant(node->inputs[1])->to_tensor().item();
    const IValue value(number);
    std::vector<Value*> inputs = node->inputs;
    inputs[1] = add_constant(graph, *node->parent, value, value.type(), node);
    const Builtin* scalar = find_builtin(std::string(node->script->name) + ".Scalar");
    Node* replacement = graph.add_script_node(*node->parent, *scalar, std::move(inputs),
                                              {node->output()->type.script}, nullptr, node->location, node);
    graph.replace_uses(node->output(), replacement->output());
    graph.erase(node);
  }
}

std::unique_ptr<Graph> with_number_constants(const Graph& graph) {
  if (!has_number(graph)) return nullptr;
  std::unique_ptr<Graph> copy = graph.clone();
  inline_calls_of_numbers(*copy);
  replace_number_constants(*copy);
  return copy;
}

}  // namespace weft::jit
