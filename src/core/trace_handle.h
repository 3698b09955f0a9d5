// What makes a tensor a traced one: it stands for a value of a graph and has no elements.
#pragma once

namespace weft {

namespace ops {
struct TensorType;
}

class TraceHandle {
 public:
  virtual ~TraceHandle() = default;
  // The value's dtype, device and (possibly symbolic) shape.
  virtual const ops::TensorType& type() const = 0;
  // Pins every symbolic size of type() to its value at capture (sym_specialize).
  virtual void specialize_shape() const;
};

}  // namespace weft
