// What operators offer calls to before they run, while something may take them over (weft.torch._overriding).
#pragma once

#include <Python.h>

namespace weft::python {

// Null: nothing takes calls over, or only what their failing shows.
inline constinit PyObject* override_handler = nullptr;
// How many modes of the thread take every call over.
inline constinit thread_local int override_modes = 0;

}  // namespace weft::python
