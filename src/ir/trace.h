// Recording: operator calls on traced tensors append nodes; in-place updates become functional ones.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ops/tracer.h"

namespace weft::ir {

// Views one after another: operators of kind View, and those that record_part() knows.
using ViewSteps = std::vector<std::pair<const OpDef*, Attrs>>;

// A tensor that is an input of the graph, or a chain of views of one: its memory is the caller's.
struct InputView {
  size_t input;
  Tensor base;  // as it is now
  bool is_updated;
  ViewSteps steps;
};

// A chain of views of a value.
struct BaseView {
  Tensor base;  // as it is now
  bool is_updated;
  bool copies_view;  // the value is a copy of a view of another one
  ViewSteps steps;
};

// While a GraphTracer is active (ops::TracerScope), calls on its tensors grow its graph.
class GraphTracer final : public ops::Tracer {
 public:
  explicit GraphTracer(std::string name);
  ~GraphTracer() override;

  // A graph input and the traced tensor that stands for it. Strides: C-contiguous unless given.
  Tensor input(TensorType type, std::string name = "", std::optional<Strides> strides = {});
  // The traced tensor that stands for the elements of this one, which do not change.
  Tensor constant(const Tensor& tensor);
  std::vector<Tensor> record(const ops::OpDef& op, const ops::OpArgs& args) override;
  Tensor record_part(const ops::OpDef& op, const Tensor& source, Attrs attrs = {}) override;
  Tensor record_move(const Tensor& tensor, Device device) override;
  void record_copy(const Tensor& target, const Tensor& source) override;
  Tensor with_strides(const Tensor& tensor, Strides strides) override;
  // The current SSA value of a traced tensor: a view is derived again if its base has been updated since.
  Value* value_of(const Tensor& tensor);
  std::optional<InputView> input_view(const Tensor& tensor) const;
  // Nothing if its base is an input.
  std::optional<BaseView> base_view(const Tensor& tensor) const;
  // Do updates of one of these traced tensors reach the other: are they views of one value, or of one input?
  bool share_memory(const Tensor& a, const Tensor& b) const;
  void set_location(SourceLocation location);
  // From now on values are on the devices on which they are eagerly, and tensors can be moved; what the graph
  // is computed on is decided afterwards (ir/place.h).
  void follow_devices();
  // Can an input of this device join the graph? One that is not the host is all that a graph has.
  bool is_of_device(Device device) const;

  Graph& graph();
  // Sets the outputs, turns updated inputs into write-backs, and gives the graph away.
  std::unique_ptr<Graph> finish(const std::vector<Tensor>& outputs);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::ir
