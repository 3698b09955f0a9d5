// Tensors on a GPU among the values of a program: what NumPy's functions take for arrays, and what is refused.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// Tensors on a device among the arguments of a function of NumPy's, also in lists and tuples, are arrays for
// it, and so is what it makes of them.
void take_for_arrays(Evaluator& ev, CallArgs& args);
// What NumPy's functions made of tensors on a device is a tensor for weft's; any other value itself.
V tensor_on_device(Evaluator& ev, const V& value);
// Are the operands of the function on two devices, which eagerly is an error? Numbers (0-d tensors of the
// host) go along, and so do indices.
bool is_of_two_devices(Evaluator& ev, const std::string& name, const std::vector<V>& operands);

}  // namespace weft::capture
