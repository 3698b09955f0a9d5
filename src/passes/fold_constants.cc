#include <algorithm>

#include "ir/symbols.h"
#include "ops/tracer.h"
#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

using ir::Node;
using ir::NodeKind;
using ir::Value;

constexpr int64_t kFoldLimit = 1024;  // elements of a result
constexpr int64_t kCreateLimit = 16;  // a larger full() or arange() says more than its elements

int64_t count(const ops::TensorType& type) { return product(type.shape).constant(); }

bool has_symbols(const ir::Attrs& attrs) {
  return std::any_of(attrs.items().begin(), attrs.items().end(), [](const auto& item) {
    const Sym* sym = std::get_if<Sym>(&item.second);
    const SymShape* list = std::get_if<SymShape>(&item.second);
    return (sym && !sym->is_constant()) || (list && !ir::is_constant(*list));
  });
}

bool foldable(const Node& node) {
  if (node.kind != NodeKind::Op || !is_deterministic(*node.op) || has_effects(node) ||
      has_symbols(node.attrs))
    return false;
  int64_t operand_elements = 0;
  for (const Value* input : node.inputs) {
    if (!input) continue;
    if (!input->def || input->def->kind != NodeKind::Constant || is_written(input)) return false;
    operand_elements = std::max(operand_elements, input->def->constant.numel());
  }
  for (const Value* output : node.outputs) {
    if (!ir::is_constant(output->tensor().shape) || output->tensor().device.type != DeviceType::CPU)
      return false;
    const int64_t elements = count(output->tensor());
    if (elements > (node.inputs.empty() ? kCreateLimit : kFoldLimit)) return false;
    // A repeated scalar is better known as such.
    if (node.op->kind == ops::OpKind::View && elements > operand_elements) return false;
    // An output must be fresh at every call, and so cannot be a constant.
    if (escapes(output) || is_written(output)) return false;
  }
  return !node.op->name.starts_with("empty");
}

}  // namespace

void fold_constants(ir::Graph& graph) {
  ops::TracerScope eager(nullptr);
  ir::for_each_node(graph.body(), [&](Node& node) {
    if (!foldable(node)) return;
    ops::OpArgs args;
    for (const Value* input : node.inputs) args.tensors.push_back(input ? input->def->constant : Tensor());
    args.attrs = ir::without_annotations(node.attrs);
    if (args.attrs.items().size() != node.attrs.items().size()) return;
    std::vector<Tensor> results;
    try {
      results = ops::call(*node.op, std::move(args));
    } catch (const Error&) {
      return;  // it will be raised when the graph runs
    }
    for (size_t i = 0; i < results.size(); ++i) {
      // A copy, so that the constant does not hold the operand's memory.
      const Node* constant = graph.add_constant(*node.parent, results[i].clone(), node.location, &node);
      graph.replace_uses(node.outputs[i], constant->output());
    }
    graph.erase(&node);
  });
}

}  // namespace weft::passes
