// The hook through which operator calls on traced tensors become graph nodes; implemented in ir/trace.cc.
#pragma once

#include <vector>

#include "core/trace_handle.h"
#include "ops/registry.h"

namespace weft {

namespace ops {

class Tracer {
 public:
  virtual ~Tracer() = default;
  // Records one strict call; operands that are not traced become constants of the graph.
  virtual std::vector<Tensor> record(const OpDef& op, const OpArgs& args) = 0;
  // `real`, `imag` or `bitcast` as views of the operand's memory: updates of either reach the other.
  virtual Tensor record_part(const OpDef& op, const Tensor& source, Attrs attrs) = 0;
  // In-place assignment to a traced tensor (or a traced view of one): target[...] = source, broadcast.
  virtual void record_copy(const Tensor& target, const Tensor& source) = 0;
  // A copy on another device.
  virtual Tensor record_move(const Tensor& tensor, Device device) = 0;
  // A tensor that is no view, in memory of these strides.
  virtual Tensor with_strides(const Tensor& tensor, Strides strides) = 0;
};

// A traced tensor whose copies and casts are recorded by the active tracer.
class RecordedHandle : public TraceHandle {
 public:
  void specialize_shape() const override;
  Tensor clone(const Tensor& self) const override;
  Tensor cast(const Tensor& self, DType dtype) const override;
  Tensor move(const Tensor& self, Device device) const override;
  void assign(const Tensor& target, const Tensor& source) const override;
};

// The calling thread's active tracer, or null. While one is active, creation operators are recorded too.
Tracer* current_tracer();
class TracerScope {
 public:
  explicit TracerScope(Tracer* tracer);
  ~TracerScope();
  TracerScope(const TracerScope&) = delete;
  TracerScope& operator=(const TracerScope&) = delete;

 private:
  Tracer* previous_;
};

}  // namespace ops
}  // namespace weft
