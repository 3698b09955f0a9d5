// Values of TorchScript as arrays of a file: what a call is given, and what it returned.
#pragma once

#include "weft/jit/module.h"
#include "weft/npz.h"

namespace weft::io {

// The keyword arguments of a call of `schema` from arrays by name: an argument's name or position ("x", "0",
// "arr_0"), followed by the position or key of what a container holds ("states.0", "table.left"). Where names
// begin with "in.", those are the arguments, and other arrays are passed over. Numbers are arrays of one
// element, lists of numbers may be one array, an Optional that is left out is None. TypeError names the
// argument, its type, what was expected and what came.
jit::Keywords arguments_of_arrays(const jit::Schema& schema, const NamedValues& arrays);

// The arrays of a value, named `name`, "name.0" for what a list or tuple holds, "name.key" for a dictionary's
// or a NamedTuple's. None has no array. TypeError for what is no array: classes, futures.
NamedValues arrays_of_value(const std::string& name, const IValue& value);

}  // namespace weft::io
