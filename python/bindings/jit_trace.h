// What the operators of a thread that traces are handed to (python/weft/jit/_trace.py).
#pragma once

#include "bindings.h"

namespace weft::python {

// The calling thread's; null unless it traces.
inline constinit thread_local PyObject* trace_handler = nullptr;

void bind_jit_trace(nb::module_& m);

}  // namespace weft::python
