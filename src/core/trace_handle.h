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
  virtual void specialize_shape() const = 0;
  // What Tensor::clone, to and copy_from do to a traced tensor: they are recorded.
  virtual Tensor clone(const Tensor& self) const = 0;
  virtual Tensor cast(const Tensor& self, DType dtype) const = 0;
  virtual Tensor move(const Tensor& self, Device device) const = 0;
  virtual void assign(const Tensor& target, const Tensor& source) const = 0;
};

}  // namespace weft
