// What runs a captured graph.
#pragma once

#include <string>

#include "capture/guards/variant.h"

namespace weft::capture {

// Compiles the graph for inputs of these strides, on `device`; logs and interprets when nothing can compile.
// `steady`: the tensors that calls to come are expected to bring, too, a module's parameters; undefined for
// other inputs. `mode`: of weft.compile.
std::shared_ptr<Executable> make_executable(std::unique_ptr<ir::Graph> graph, Device device,
                                            std::vector<Strides> input_strides,
                                            const std::vector<Tensor>& steady, const std::string& mode,
                                            std::vector<KernelSummary>* kernels);

}  // namespace weft::capture
