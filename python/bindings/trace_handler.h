// What the operators of a thread that traces are handed to (weft.jit._tracer.Tracer).
#pragma once

#include <Python.h>

namespace weft::python {

// The calling thread's; null unless it traces.
inline constinit thread_local PyObject* trace_handler = nullptr;

}  // namespace weft::python
