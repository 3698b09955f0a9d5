// Recording: operator calls on traced tensors append nodes; in-place updates become functional ones.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "ops/tracer.h"

namespace weft::ir {

// While a GraphTracer is active (ops::TracerScope), calls on its tensors grow its graph.
class GraphTracer final : public ops::Tracer {
 public:
  explicit GraphTracer(std::string name);
  ~GraphTracer() override;

  // A graph input and the traced tensor that stands for it.
  Tensor input(TensorType type, std::string name = "");
  std::vector<Tensor> record(const ops::OpDef& op, const ops::OpArgs& args) override;
  void record_copy(const Tensor& target, const Tensor& source) override;
  // The current SSA value of a traced tensor: a view is derived again if its base has been updated since.
  Value* value_of(const Tensor& tensor);
  void set_location(SourceLocation location);

  Graph& graph();
  // Sets the outputs, turns updated inputs into write-backs, and gives the graph away.
  std::unique_ptr<Graph> finish(const std::vector<Tensor>& outputs);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::ir
