// A frozen graph in half precision: its floating constants, what comes in, and dtypes that it names.
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

constexpr int64_t kFloat = 6;  // of PyTorch's ScalarType

void lower_constant(Graph& graph, Node& node, DType dtype) {
  const IValue* const value = known_constant(node.outputs[0]);
  if (!value || !value->is_tensor() || value->to_tensor().dtype() != DType::F32) return;
  graph.replace_uses(node.outputs[0], add_constant(graph, *node.parent, IValue(value->to_tensor().to(dtype)),
                                                   node.outputs[0]->type.script, &node));
}

// Operands that are named dtype and are float32's code.
void lower_dtypes(Graph& graph, Node& node, DType dtype) {
  const Builtin* builtin = nullptr;
  for (const Builtin* candidate : find_builtins(node.script->name))
    if (candidate == node.script) builtin = candidate;
  if (!builtin) return;
  const auto& arguments = builtin->schema.arguments;
  for (size_t i = 0; i < std::min(arguments.size(), node.inputs.size()); ++i) {
    const IValue* const value =
        arguments[i].name == "dtype" && node.inputs[i] ? known_constant(node.inputs[i]) : nullptr;
    if (!value || !value->is(IValue::Tag::Int) || value->to_int() != kFloat) continue;
    graph.set_input(&node, i,
                    add_constant(graph, *node.parent, IValue(dtype), node.inputs[i]->type.script, &node));
  }
}

}  // namespace

void lower_precision(Graph& graph, DType dtype) {
  std::vector<Node*> nodes;
  ir::for_each_node(graph.body(), [&](Node& node) { nodes.push_back(&node); });
  for (Node* const node : nodes) {
    if (node->kind != NodeKind::Script) continue;
    if (node->script == &prim::kFork)
      throw_error(ErrorKind::NotImplemented,
                  "optimize_for_inference: dtype= of a module that forks is not implemented");
    if (node->script == &prim::kConstant)
      lower_constant(graph, *node, dtype);
    else
      lower_dtypes(graph, *node, dtype);
  }
  Node* const first = graph.body().nodes.empty() ? nullptr : graph.body().nodes.front().get();
  const Builtin* const cast = find_builtins("aten::_autocast_to_reduced_precision")[0];
  for (Value* const input : graph.inputs()) {
    if (!input->type.script->is(TypeKind::Tensor) || input->uses.empty()) continue;
    const auto constant = [&](IValue value, TypePtr type) {
      return add_constant(graph, graph.body(), std::move(value), type, first);
    };
    const std::vector<Value*> operands{
        input, constant(IValue(false), Type::boolean()), constant(IValue(true), Type::boolean()),
        constant(IValue(dtype), Type::integer()), constant(IValue(dtype), Type::integer())};
    Node* const lowered =
        graph.add_script_node(graph.body(), *cast, operands, {input->type.script}, nullptr, {}, first);
    graph.replace_uses(input, lowered->outputs[0]);
    graph.set_input(lowered, 0, input);
  }
}

}  // namespace weft::jit
