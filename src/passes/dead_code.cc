#include <algorithm>

#include "ops/effects.h"
#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

// Backwards, so that one walk removes whole chains.
void sweep(ir::Graph& graph, ir::Block& block) {
  for (auto it = block.nodes.end(); it != block.nodes.begin();) {
    ir::Node* node = std::prev(it)->get();
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [](const ir::Value* value) { return !value->uses.empty(); });
    const bool checks = node->op && ops::refuses_by_value(*node->op);
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
