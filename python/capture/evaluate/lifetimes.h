// When objects end, and whether the program sees it.
#pragma once

#include "capture/values/value.h"

namespace weft::capture {

// Does nothing of the program's run, and nothing that it sees change, where the last reference to the object
// goes? False for objects with finalizers or weak references, and for what holds such a one alone.
bool ends_quietly(PyObject* object);

// Of a value that a container or an attribute of the program's lets go of: breaks where that may be the end
// of an object and the end is seen.
void let_go(const V& value);

}  // namespace weft::capture
