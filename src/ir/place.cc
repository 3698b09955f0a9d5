#include "ir/place.h"

namespace weft::ir {

void place(Graph& graph, Device device) {
  for (Value* input : graph.inputs()) input->type.tensor.device = device;
  for_each_node(graph.body(), [&](Node& node) {
    for (Value* output : node.outputs) output->type.tensor.device = device;
    if (node.kind == NodeKind::Constant) node.constant = node.constant.to(device);
    if (node.attrs.find("device")) node.attrs.set("device", device);
  });
}

}  // namespace weft::ir
