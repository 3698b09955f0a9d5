// argmin and argmax of a monotone function.
//
// sqrt is monotone, but rounding makes it map different x to equal roots, and the first of equal ones wins:
// argmin(x) may differ from argmin(sqrt(x)). The node therefore keeps the function as an annotation, and the
// kernel takes roots only where two x are so near that their roots may be equal.
#include <algorithm>

#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {

using ir::Node;
using ir::Use;

void strip_monotone(ir::Graph& graph) {
  ir::for_each_node(graph.body(), [&](Node& node) {
    if (!node.is("argmin") && !node.is("argmax")) return;
    if (node.attrs.find("through")) return;
    ir::Value* operand = node.inputs[0];
    if (!operand->def || !operand->def->is("sqrt")) return;
    const bool only_here = std::all_of(operand->uses.begin(), operand->uses.end(), [](const Use& use) {
      return use.user && (use.user->is("argmin") || use.user->is("argmax"));
    });
    ir::Value* inner = operand->def->inputs[0];
    if (!only_here || !is_floating(operand->tensor().dtype) || !is_non_negative(inner)) return;
    graph.set_input(&node, 0, inner);
    node.attrs.set(ir::kAnnotations[0], std::string("sqrt"));
  });
}

}  // namespace weft::passes
