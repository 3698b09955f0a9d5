// Operators on NumPy arrays, called by name.
#pragma once

#include "capture/objects/py.h"

namespace weft::capture {

// _array_operator(name, *arrays, **attributes): an array, or a tuple where the operator gives several.
// Strict: operands have the dtypes that the operator wants. Attributes: None, bools, numbers, strings.
// raises: as the operator; TypeError for arrays of other things.
PyObject* array_operator(PyObject* module, PyObject* const* args, Py_ssize_t num_args, PyObject* names);

}  // namespace weft::capture
