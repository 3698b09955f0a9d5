// The device on which a graph is computed.
#pragma once

#include "ir/graph.h"
#include "weft/device.h"

namespace weft::ir {

// The one that is not the host on which values of the graph lie; the host where there is none. RuntimeError
// for two.
Device device_of(Graph& graph);
// Where the graph's results lie.
std::vector<Device> devices_of_results(const Graph& graph);
// Inputs, results and constants of the graph lie on `device` from now on, and all of it is computed there:
// copies between devices are copies on it.
void place(Graph& graph, Device device);

}  // namespace weft::ir
