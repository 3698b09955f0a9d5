// The device on which a graph is computed.
#pragma once

#include "ir/graph.h"
#include "weft/device.h"

namespace weft::ir {

// Inputs, results and constants of the graph lie on `device` from now on, and all of it is computed there.
void place(Graph& graph, Device device);

}  // namespace weft::ir
