// One specialization of a traced function: guards, graph, and what to hand back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compiled_graph.h"
#include "frontend/guards.h"
#include "ir/trace.h"
#include "weft/compile.h"

namespace weft::frontend {

// Sizes seen per argument, to tell which change.
class DimensionHistory {
 public:
  // Notes the arguments' sizes; dimensions whose size differs from an earlier one are dynamic from now on.
  void note(const std::vector<Tensor>& arguments);
  bool is_dynamic(size_t argument, size_t dimension) const { return inputs_[argument].dynamic[dimension]; }

 private:
  struct Input {
    Shape sizes;
    std::vector<bool> dynamic;
  };
  std::vector<Input> inputs_;
};

// Where an output comes from: the graph, an argument seen through views, or an array from outside.
struct OutputSource {
  int graph_output = -1;
  std::optional<ir::InputView> view;
  Tensor outside;
};

struct Variant {
  Guards guards;
  std::unique_ptr<ir::Graph> graph;                   // as traced; owns the symbols of the guards
  std::shared_ptr<compiler::CompiledGraph> compiled;  // null: call the function as it is
  std::string why_plain;
  bool is_user_error = false;  // the function raised a ValueError, TypeError or IndexError: do not keep this
  std::vector<OutputSource> outputs;
  bool gives_graph_outputs = false;  // all of them, and nothing else
  std::vector<size_t> written;       // arguments that are updated in place

  // False where the graph would not mean what the function does: an updated argument that shares memory with
  // another, or that cannot be written.
  bool can_run(const std::vector<Tensor>& arguments) const;
  std::vector<Tensor> run(const std::vector<Tensor>& arguments) const;
};

// `steady`: arguments that are the same tensors at nearly every call (compiler/steady_graph.h).
std::shared_ptr<const Variant> trace(const detail::CompiledFunction::Function& function,
                                     const std::vector<Tensor>& arguments, DimensionHistory& history,
                                     const CompileOptions& options, bool use_kernels = true,
                                     const std::vector<size_t>& steady = {});

}  // namespace weft::frontend
