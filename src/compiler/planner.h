// The steps that compute a graph: its kernels and operator calls, over slots.
#pragma once

#include <vector>

#include "compiler/fuse.h"
#include "compiler/kernel.h"
#include "compiler/program.h"

namespace weft::compiler {

// `kernels`: of the fusion's groups, in order.
Program plan(const ir::Graph& graph, const FusionPlan& fusion, std::vector<Kernel> kernels);

}  // namespace weft::compiler
