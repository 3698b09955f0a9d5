#include "core/trace_handle.h"

#include "ops/tracer.h"

namespace weft {

void TraceHandle::specialize_shape() const {
  for (const Sym& size : type().shape) sym_specialize(size);
}

// A cast to the dtype it has: a pointwise operator, whose result is fresh memory.
Tensor TraceHandle::clone(const Tensor& self) const { return cast(self, self.dtype()); }

Tensor TraceHandle::cast(const Tensor& self, DType dtype) const {
  return ops::call1("cast", {self}, {{"dtype", dtype}});
}

Tensor TraceHandle::move(const Tensor& self, Device device) const {
  ops::Tracer* tracer = ops::current_tracer();
  WEFT_ASSERT(tracer != nullptr, "to: a traced tensor is used outside its trace");
  return tracer->record_move(self, device);
}

void TraceHandle::assign(const Tensor& target, const Tensor& source) const {
  ops::Tracer* tracer = ops::current_tracer();
  WEFT_ASSERT(tracer != nullptr, "copy_from: a traced tensor is used outside its trace");
  tracer->record_copy(target, source);
}

}  // namespace weft
