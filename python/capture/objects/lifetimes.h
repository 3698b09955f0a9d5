// When objects end, and whether the program sees it.
#pragma once

#include "capture/objects/py.h"

namespace weft::capture {

// Does nothing of the program's run, and nothing that it sees change, where the last reference to the object
// goes? False for objects with finalizers or weak references, and for what holds such a one alone.
bool ends_quietly(PyObject* object);

}  // namespace weft::capture
