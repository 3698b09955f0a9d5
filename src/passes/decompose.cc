#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* add(Graph& graph, Node& node, std::string_view op, std::vector<Value*> inputs, ir::Attrs attrs = {}) {
  return graph.add_node(*node.parent, ops::get_op(op), std::move(inputs), std::move(attrs), node.location, &node)
      ->output();
}

Value* square_to_mul(Graph& graph, Node& node) {
  return add(graph, node, "mul", {node.inputs[0], node.inputs[0]});
}

Value* transpose_to_permute(Graph& graph, Node& node) {
  const auto rank = static_cast<int64_t>(node.inputs[0]->tensor().shape.size());
  if (rank == 0) return nullptr;
  const auto axis = [&](std::string_view name) {
    const int64_t d = node.attrs.get_int(name);
    return static_cast<size_t>(d < 0 ? d + rank : d);
  };
  SymShape dims;
  for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  std::swap(dims[axis("dim0")], dims[axis("dim1")]);
  return add(graph, node, "permute", {node.inputs[0]}, {{"dims", dims}});
}

// Views that only insert, drop or merge dimensions.
Value* to_reshape(Graph& graph, Node& node) {
  return add(graph, node, "reshape", {node.inputs[0]}, {{"shape", node.output()->tensor().shape}});
}

struct Decomposition {
  std::string_view op;
  Value* (*rule)(Graph&, Node&);
};

constexpr Decomposition kDecompositions[] = {
    {"square", square_to_mul},
    {"transpose", transpose_to_permute},
    {"flatten", to_reshape},
    {"unflatten", to_reshape},
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
