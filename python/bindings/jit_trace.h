// weft._C._trace: the recorder of weft.jit.trace.
#pragma once

#include "bindings.h"
#include "trace_handler.h"

namespace weft::python {

void bind_jit_trace(nb::module_& m);

}  // namespace weft::python
