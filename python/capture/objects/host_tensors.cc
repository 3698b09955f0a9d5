#include "capture/objects/host_tensors.h"

#include "array.h"
#include "bindings.h"

namespace weft::capture {

bool is_host_tensor(PyObject* object) {
  const Tensor* tensor = python::tensor_of_python(object);
  // Arrays of weft.numpy follow rules of their own and stay what they are.
  return tensor && !python::is_array(object) && tensor->device() == Device{} &&
         tensor->dtype() != DType::BF16 && tensor->storage();
}

Ref array_of_tensor(PyObject* object) {
  if (!is_host_tensor(object)) return Ref();
  return Ref::steal(python::to_numpy(*python::tensor_of_python(object)).release().ptr());
}

Ref tensor_of_array(PyObject* array) {
  return Ref::steal(python::to_python(python::tensor_from_buffer(array, false)).release().ptr());
}

Ref meta_tensor(const Tensor& tensor) { return Ref::steal(python::to_python(tensor).release().ptr()); }

bool is_weft_operator(PyObject* callable) { return python::operator_of_python(callable) != nullptr; }

}  // namespace weft::capture
