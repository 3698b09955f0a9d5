#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* add(Graph& graph, Node& node, std::string_view op, std::vector<Value*> inputs, ir::Attrs attrs = {}) {
  return graph
      .add_node(*node.parent, ops::get_op(op), std::move(inputs), std::move(attrs), node.location, &node)
      ->output();
}

Value* square_to_mul(Graph& graph, Node& node) {
  return add(graph, node, "mul", {node.inputs[0], node.inputs[0]});
}

struct Decomposition {
  std::string_view op;
  Value* (*rule)(Graph&, Node&);
};

constexpr Decomposition kDecompositions[] = {
    {"square", square_to_mul},
};

}  // namespace

void decompose(Graph& graph) {
  ir::for_each_node(graph.body(), [&](Node& node) {
    for (const Decomposition& decomposition : kDecompositions) {
      if (!node.is(decomposition.op)) continue;
      Value* replacement = decomposition.rule(graph, node);
      if (!replacement) return;
      graph.replace_uses(node.output(), replacement);
      graph.erase(&node);
      return;
    }
  });
}

}  // namespace weft::passes
