// Arguments and results of calls of a module that is on a GPU.
#pragma once

#include "weft/device.h"
#include "weft/npz.h"

namespace weft::serve {

// With tensors on the device, those in lists, tuples and dicts as well, which are other ones then.
NamedValues moved(const NamedValues& values, Device device);

}  // namespace weft::serve
