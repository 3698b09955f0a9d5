// Graphs some of whose inputs are the same tensors at nearly every call: a module's parameters.
#pragma once

#include <memory>
#include <vector>

#include "compiler/compiled_graph.h"

namespace weft::compiler {

// Compiles the graph with some inputs as constants, whose layouts are prepared once: `steady` holds the
// tensors that are expected there at every call, undefined ones for other inputs. A call that brings other
// tensors, or that follows a write to their elements (core/memory_watch.h), compiles anew: with the new
// elements or, where they change time and again, without constants.
std::shared_ptr<CompiledGraph> compile_steady(std::unique_ptr<ir::Graph> graph,
                                              const std::vector<Tensor>& steady,
                                              const CompileOptions& options = {});

}  // namespace weft::compiler
