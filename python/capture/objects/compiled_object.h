// The objects that weft.compile returns, as capture meets them in programs. running/callable.cc makes their
// class.
#pragma once

#include "capture/objects/py.h"

namespace weft::capture {

// The class, whose objects have the function that they were made of (a PyObject*) so many bytes from their
// beginning. Said once, before any is made.
void set_compiled_class(PyTypeObject* type, size_t function_offset);
// What weft.compile was given, if `object` is what it returned; borrowed, or null.
PyObject* compiled_function(PyObject* object);

}  // namespace weft::capture
