// Has a dict changed? One comparison instead of a look at each of its keys.
#pragma once

#include <cstdint>

#include "capture/objects/py.h"

namespace weft::capture {

// What differs after every change of the dict: no two states of any dicts have the same. 0 where this Python
// cannot tell (an OrderedDict of a layout that weft does not know).
uint64_t version_of_dict(PyObject* dict);

}  // namespace weft::capture
