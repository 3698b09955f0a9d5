#include "capture/objects/host_tensors.h"

#include "array.h"
#include "bindings.h"
#include "capture/objects/made_once.h"
#include "core/backend.h"
#include "overriding.h"

namespace weft::capture {

// A tensor of a program's class, which takes calls over: Python performs them.
static bool takes_calls_over(PyObject* object) {
  static constinit InternedName mark("_weft_offers");
  return python::override_handler && _PyType_Lookup(Py_TYPE(object), mark);
}

const Tensor* host_tensor(PyObject* object) {
  const Tensor* tensor = python::tensor_of_python(object);
  return tensor && !takes_calls_over(object) && tensor->device() == Device{} && tensor->storage() ? tensor : nullptr;
}

const Tensor* captured_tensor(PyObject* object) {
  const Tensor* tensor = python::tensor_of_python(object);
  if (!tensor || !tensor->storage() || takes_calls_over(object)) return nullptr;
  if (tensor->device() == Device{}) return tensor;
  const Device chosen = python::default_device();
  if (tensor->device() != chosen && chosen != Device{}) return nullptr;
  const Backend& backend = backend_of(tensor->device());
  return backend.memory == MemoryKind::Device && backend.has_kernels ? tensor : nullptr;
}

bool is_tensor(PyObject* object) { return python::tensor_of_python(object) != nullptr; }

bool is_host_tensor(PyObject* object) { return host_tensor(object) != nullptr; }

Ref array_of_tensor(PyObject* object) {
  if (!is_host_tensor(object)) return captured_tensor(object) ? Ref::borrow(object) : Ref();
  return Ref::steal(python::to_numpy(*python::tensor_of_python(object)).release().ptr());
}

Ref tensor_of_array(PyObject* array) {
  return Ref::steal(python::to_python(python::tensor_from_buffer(array, false)).release().ptr());
}

bool is_weft_array(PyObject* object) { return python::is_array(object); }

Ref object_of_tensor(const Tensor& tensor, bool as_array) {
  const Promotion rules = as_array ? Promotion::NumPy : Promotion::Torch;
  return Ref::steal(python::to_python(tensor, rules).release().ptr());
}

Ref object_of_device(Device device) { return Ref::steal(nanobind::cast(device).release().ptr()); }

Ref object_of_size(Sym size) { return Ref::steal(python::symbolic_int_object(size).release().ptr()); }

PyTypeObject* size_class() { return python::size_type; }

PyTypeObject* tensor_class(bool of_arrays) {
  if (of_arrays) return python::array_type;
  return reinterpret_cast<PyTypeObject*>(nanobind::type<Tensor>().ptr());
}

// torch.contiguous_format and torch.strided.
static bool is_torch_constant(PyObject* object) {
  static constinit InternedName module_name("__module__");
  if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  PyObject* const module = PyDict_GetItemWithError(Py_TYPE(object)->tp_dict, module_name);
  return module && PyUnicode_Check(module) &&
         PyUnicode_CompareWithASCIIString(module, "weft.torch._kinds") == 0;
}

bool is_weft_constant(PyObject* object) {
  return Py_TYPE(object) == Py_TYPE(python::to_python(DType::F32).ptr()) ||
         nanobind::isinstance<Device>(object) || is_torch_constant(object);
}

bool is_weft_operator(PyObject* callable) { return python::operator_of_python(callable) != nullptr; }

}  // namespace weft::capture
