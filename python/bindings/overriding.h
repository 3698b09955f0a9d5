// Calls that arguments' classes or modes take over (weft.torch._overriding).
#pragma once

#include <Python.h>

namespace weft::python {

// What operators offer calls to before they run. Null, as long as nothing takes calls over.
inline constinit PyObject* override_handler = nullptr;

// What the handler makes of a call in an operator's place: null without an error where the operator is to
// run.
PyObject* call_offered(PyObject* callable, PyObject* const* args, size_t nargs, PyObject* keywords);

}  // namespace weft::python
