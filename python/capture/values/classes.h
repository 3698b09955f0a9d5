// Which classes' instances the evaluator makes and reads itself.
#pragma once

#include "capture/objects/py.h"

namespace weft::capture {

// A class of the program's whose instances hold their attributes as object's do.
bool is_plain_class(PyTypeObject* type);
// One of them that is called as usual; who makes the instance is not asked.
bool is_instantiable(PyTypeObject* type);
// types.SimpleNamespace
bool is_namespace_class(PyTypeObject* type);
// Its method of this name that is written in Python, or null; borrowed.
PyObject* python_function_of(PyTypeObject* type, const char* name);
// A module that is imported already, past an __import__ of the program's; else it is imported.
Ref loaded_module(const char* name);
// A function of weft._protocols.
Ref protocol_function(const char* name);
// A function of weft._entered_library, which stands in for a part of Python's own; a new reference.
Ref entered_function(const char* name);
void register_copying();

}  // namespace weft::capture
