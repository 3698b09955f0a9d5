#include "ops/tracer.h"

namespace weft::ops {

void RecordedHandle::specialize_shape() const {
  for (const Sym& size : type().shape) sym_specialize(size);
}

// A cast to the dtype it has: a pointwise operator, whose result is fresh memory.
Tensor RecordedHandle::clone(const Tensor& self) const { return cast(self, self.dtype()); }

Tensor RecordedHandle::cast(const Tensor& self, DType dtype) const {
  return call1("cast", {self}, {{"dtype", dtype}});
}

Tensor RecordedHandle::move(const Tensor& self, Device device) const {
  Tracer* tracer = current_tracer();
  WEFT_ASSERT(tracer != nullptr, "to: a traced tensor is used outside its trace");
  return tracer->record_move(self, device);
}

void RecordedHandle::assign(const Tensor& target, const Tensor& source) const {
  Tracer* tracer = current_tracer();
  WEFT_ASSERT(tracer != nullptr, "copy_from: a traced tensor is used outside its trace");
  tracer->record_copy(target, source);
}

}  // namespace weft::ops
