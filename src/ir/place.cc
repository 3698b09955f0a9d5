#include "ir/place.h"

#include <fmt/format.h>

#include "weft/error.h"

namespace weft::ir {

Device device_of(Graph& graph) {
  Device found;
  const auto note = [&](Device device) {
    if (device == Device{} || device == found) return;
    if (found != Device{})
      throw_error(ErrorKind::Runtime,
                  fmt::format("tensors on two devices in one graph, {} and {}", found.str(), device.str()));
    found = device;
  };
  for (const Value* input : graph.inputs()) note(input->tensor().device);
  for_each_node(graph.body(), [&](const Node& node) {
    for (const Value* output : node.outputs) note(output->tensor().device);
  });
  return found;
}

std::vector<Device> devices_of_results(const Graph& graph) {
  std::vector<Device> devices;
  for (const Value* output : graph.outputs()) devices.push_back(output->tensor().device);
  return devices;
}

void place(Graph& graph, Device device) {
  for (Value* input : graph.inputs()) input->type.tensor.device = device;
  for_each_node(graph.body(), [&](Node& node) {
    for (Value* output : node.outputs) output->type.tensor.device = device;
    if (node.kind == NodeKind::Constant) node.constant = node.constant.to(device);
    if (node.attrs.find("device")) node.attrs.set("device", device);
  });
}

}  // namespace weft::ir
