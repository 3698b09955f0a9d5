// What makes a tensor a traced one: it stands for a value of a graph and has no elements.
#pragma once

#include "weft/device.h"
#include "weft/dtype.h"

namespace weft {

class Tensor;

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
  // What Tensor::clone, to and copy_from do to a traced tensor: they are recorded.
  virtual Tensor clone(const Tensor& self) const;
  virtual Tensor cast(const Tensor& self, DType dtype) const;
  virtual Tensor move(const Tensor& self, Device device) const;
  virtual void assign(const Tensor& target, const Tensor& source) const;
};

}  // namespace weft
