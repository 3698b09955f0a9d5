// Objects of weft's own: tensors whose memory arrays may share, operators.
#pragma once

#include "capture/objects/py.h"
#include "ir/symbols.h"
#include "weft/tensor.h"

namespace weft::capture {

// Is it a tensor whose memory NumPy can look at?
bool is_host_tensor(PyObject* object);
const Tensor* host_tensor(PyObject* object);  // null for any other object
// A tensor that graphs take: of the host, or of the device that `with weft.device(...)` has chosen, or,
// outside of it, of any device with kernels.
const Tensor* captured_tensor(PyObject* object);
bool is_tensor(PyObject* object);  // of any device
// A new array over the tensor's memory (the tensor itself where that is a device's), and a new tensor over
// the array's; no copies.
Ref array_of_tensor(PyObject* object);
Ref tensor_of_array(PyObject* array);
bool is_weft_array(PyObject* object);  // of weft.numpy
Ref object_of_tensor(const Tensor& tensor, bool as_array = false);
Ref object_of_device(Device device);
Ref object_of_size(Sym size);  // what operators take for an int
// weft.Size, the class of shapes.
PyTypeObject* size_class();
PyTypeObject* tensor_class(bool of_arrays = false);

bool is_weft_operator(PyObject* callable);
bool is_weft_constant(PyObject* object);  // a dtype, a device, a memory format or a layout

}  // namespace weft::capture
