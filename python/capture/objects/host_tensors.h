// Objects of weft's own: tensors whose memory arrays may share, operators.
#pragma once

#include "capture/objects/py.h"
#include "weft/tensor.h"

namespace weft::capture {

// Is it a tensor whose memory NumPy can look at?
bool is_host_tensor(PyObject* object);
// A new array over the tensor's memory, and a new tensor over the array's; no copies.
Ref array_of_tensor(PyObject* object);
Ref tensor_of_array(PyObject* array);
Ref meta_tensor(const Tensor& tensor);

bool is_weft_operator(PyObject* callable);
}  // namespace weft::capture
