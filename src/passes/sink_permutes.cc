// Results that lie in memory in another order of dimensions than the graph's (kOwnMemory): what they are
// joined, cut and computed of is permuted before, so that it is read and written as it lies.
#include <algorithm>
#include <vector>

#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

using ir::Attrs;
using ir::Graph;
using ir::Node;
using ir::Value;

class PermuteSink {
 public:
  explicit PermuteSink(Graph& graph) : graph_(graph) {
    ir::for_each_node(graph.body(), [&](Node& node) {
      if (node.is("permute") && node.attrs.find(ir::kOwnMemory)) waiting_.push_back(&node);
    });
  }

  void run() {
    while (!waiting_.empty()) {
      Node* const permute = waiting_.back();
      waiting_.pop_back();
      Node* const node = permute->inputs[0]->def;
      if (!node || !node->op || node->parent != permute->parent || node->outputs.size() != 1 ||
          node->output()->uses.size() != 1 || has_effects(*node))
        continue;
      if (Value* moved = moved_behind(*permute, *node)) {
        graph_.replace_uses(permute->output(), moved);
        graph_.erase(permute);
        graph_.erase(node);
      }
    }
  }

 private:
  Graph& graph_;
  std::vector<Node*> waiting_;

  // The node's result, its operands permuted; null where that is not known.
  Value* moved_behind(Node& permute, const Node& node) {
    const size_t ndim = permute.output()->tensor().shape.size();
    std::vector<int64_t> dims = permute.attrs.get_ints("dims");
    for (int64_t& dim : dims) dim += dim < 0 ? static_cast<int64_t>(ndim) : 0;
    Attrs attrs = node.attrs;
    if (node.is("full")) {
      attrs.set("shape", permute.output()->tensor().shape);
    } else if (node.is("join") || node.is("slice") || node.is("slice_update")) {
      int64_t dim = node.attrs.get_int("dim");
      dim += dim < 0 ? static_cast<int64_t>(ndim) : 0;
      attrs.set("dim", Sym(std::find(dims.begin(), dims.end(), dim) - dims.begin()));
    } else if (!is_elementwise(node)) {
      return nullptr;
    }
    std::vector<Value*> operands;
    for (Value* input : node.inputs) operands.push_back(input ? permuted(permute, input, dims) : nullptr);
    return graph_.add_node(*permute.parent, *node.op, operands, attrs, node.location, &permute)->output();
  }

  static bool is_elementwise(const Node& node) {
    if (node.op->kind != ops::OpKind::Pointwise) return false;
    for (const char* name : {"dim", "dims", "shape", "memory_order"})
      if (node.attrs.find(name)) return false;
    return true;
  }

  Value* permuted(Node& before, Value* value, const std::vector<int64_t>& dims) {
    const SymShape& shape = value->tensor().shape;
    if (shape.empty()) return value;
    const auto add = [&](const char* op, Attrs attrs) {
      Node* const node = graph_.add_node(*before.parent, ops::get_op(op), {value}, std::move(attrs),
                                         before.location, &before);
      value = node->output();
      return node;
    };
    if (shape.size() < dims.size()) {
      SymShape wide(dims.size() - shape.size(), Sym(1));
      wide.insert(wide.end(), shape.begin(), shape.end());
      add("reshape", {{"shape", wide}});
    }
    Node* const node = add("permute", {{"dims", SymShape(dims.begin(), dims.end())}});
    node->attrs.set(ir::kOwnMemory, true);
    waiting_.push_back(node);
    return value;
  }
};

}  // namespace

void sink_permutes(Graph& graph) { PermuteSink(graph).run(); }

}  // namespace weft::passes
