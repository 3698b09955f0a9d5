#include <algorithm>
#include <string_view>

#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

// What raises for some values is computed even where nobody takes the result: NumPy raises there.
bool refuses_by_value(std::string_view op) {
  return op == "require" || op == "inv" || op == "solve" || op == "cholesky";
}

// Backwards, so that one walk removes whole chains.
void sweep(ir::Graph& graph, ir::Block& block) {
  for (auto it = block.nodes.end(); it != block.nodes.begin();) {
    ir::Node* node = std::prev(it)->get();
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [](const ir::Value* value) { return !value->uses.empty(); });
    const bool checks = node->op && refuses_by_value(node->op->name);
    if (!used && !checks && !has_effects(*node)) {
      graph.erase(node);
      continue;
    }
    for (const auto& inner : node->blocks) sweep(graph, *inner);
    --it;
  }
}

}  // namespace

void eliminate_dead_code(ir::Graph& graph) { sweep(graph, graph.body()); }

}  // namespace weft::passes
