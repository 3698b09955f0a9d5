#include "core/trace_handle.h"

#include "ops/attrs.h"

namespace weft {

void TraceHandle::specialize_shape() const {
  for (const Sym& size : type().shape) sym_specialize(size);
}

}  // namespace weft
