#include "capture/numpy/error_state.h"

#include <algorithm>
#include <set>

namespace weft::capture {

namespace {

V ends_segment(Evaluator&, CallArgs&) {
  throw GraphBreak{.reason = "the handling of floating-point errors changes", .is_planned = true};
}

// Is it made of constants alone?
bool is_known(const ir::Value* value, std::set<const ir::Value*>& seen) {
  if (!seen.insert(value).second) return true;
  const ir::Node* const node = value->def;
  if (!node || !node->blocks.empty()) return false;
  return std::all_of(node->inputs.begin(), node->inputs.end(),
                     [&](const ir::Value* input) { return !input || is_known(input, seen); });
}

bool computes(const ir::Node& node) {
  return node.op && node.op->kind != ops::OpKind::View && node.op->kind != ops::OpKind::Creation;
}

bool is_computed_of_known(Evaluator& ev, const Tensor& tensor) {
  if (!tensor.is_traced()) return true;
  const ir::Value* const value = ev.tracer().value_of(tensor);
  if (!value->def || !computes(*value->def)) return false;
  const bool is_literal = value->def->is("cast") && value->def->inputs[0]->def &&
                          value->def->inputs[0]->def->kind == ir::NodeKind::Constant &&
                          value->def->inputs[0]->tensor().dtype == value->tensor().dtype;
  std::set<const ir::Value*> seen;
  return !is_literal && is_known(value, seen);
}

}  // namespace

V refuse_known(Evaluator& ev, V result) {
  if (!ev.keeps_errors() || !result) return result;
  if (result->kind == Kind::Array && is_computed_of_known(ev, result->tensor))
    graph_break("known numbers, where errors of floating-point numbers are raised");
  if (result->kind == Kind::Tuple || result->kind == Kind::List)
    for (const V& item : result->items) refuse_known(ev, item);
  return result;
}

void keep_unused(ir::Graph& graph) {
  std::vector<ir::Value*> unused;
  for (const auto& node : graph.body().nodes) {
    const auto is_used = [](const ir::Value* output) { return !output->uses.empty(); };
    if (computes(*node) && !node->outputs.empty() &&
        std::none_of(node->outputs.begin(), node->outputs.end(), is_used))
      unused.push_back(node->outputs[0]);
  }
  for (ir::Value* value : unused) graph.add_return(graph.body(), value);
}

void register_error_state() {
  for (const char* path :
       {"numpy.errstate.__enter__", "numpy.errstate.__exit__", "numpy.seterr", "numpy.geterr",
        "numpy.seterrcall", "numpy.geterrcall", "numpy._core.umath._make_extobj"})
    register_lowering(path, ends_segment);
}

}  // namespace weft::capture
