// Tensors from Python data and from other libraries' arrays.
#include <fmt/format.h>

#include "bindings.h"
#include "weft/error.h"

namespace weft::python {

namespace {

Tensor on_device(const Tensor& tensor, nb::handle device) {
  return tensor.to(device.is_none() ? default_device() : device_of_python(device));
}

// Where a tensor is made of this data: beside the tensor that the data is, unless a device is named.
nb::object device_beside(nb::handle data, nb::handle device) {
  if (!device.is_none()) return nb::borrow(device);
  const Tensor* tensor = tensor_of_python(data);
  return tensor ? nb::cast(tensor->device()) : nb::none();
}

nb::object flagged(const Tensor& tensor, bool requires_grad) {
  nb::object result = to_python(tensor);
  if (requires_grad) nb::setattr(result, "requires_grad", nb::bool_(true));
  return result;
}

// Is this the memory of the data, not a copy?
bool shares_memory(const Tensor& made, nb::handle data) {
  if (const Tensor* tensor = tensor_of_python(data)) return made.storage() == tensor->storage();
  return made.storage() && PyObject_CheckBuffer(data.ptr()) && made.impl().use_count() > 0 &&
         may_overlap(made, tensor_from_buffer(data, true));
}

}  // namespace

void bind_creation(nb::module_& m) {
  m.def(
      "tensor",
      [](nb::handle data, nb::handle dtype, nb::handle device, bool requires_grad, bool pin_memory) {
        (void)pin_memory;
        const Tensor made = on_device(tensor_from_data(data, optional_dtype(dtype)), device_beside(data, device));
        return flagged(made, requires_grad);
      },
      nb::arg("data"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("requires_grad") = false, nb::arg("pin_memory") = false,
      "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor\n\n"
      "A copy of numbers, nested sequences or an array. Python floats become the default dtype (float32), ints "
      "int64.\n"
      "raises: ValueError for ragged sequences and integers that do not fit; TypeError for anything but "
      "numbers.");
  m.def(
      "asarray",
      [](nb::handle data, nb::handle dtype, nb::handle device, nb::handle copy, bool requires_grad) {
        const std::optional<DType> wanted = optional_dtype(dtype);
        const nb::object place = device_beside(data, device);
        if (!copy.is_none() && nb::cast<bool>(copy))
          return flagged(on_device(tensor_from_data(data, wanted), place), requires_grad);
        const Tensor made = on_device(as_tensor(data, wanted), place);
        if (!copy.is_none() && !shares_memory(made, data))
          throw_error(ErrorKind::Value, "asarray: this data cannot be shared, and copy=False forbids a copy");
        return flagged(made, requires_grad);
      },
      nb::arg("obj"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("copy") = nb::none(), nb::arg("requires_grad") = false,
      "As tensor, sharing the memory of a tensor or an array where its dtype and alignment allow. copy: True "
      "copies, False\nis a ValueError where memory cannot be shared.");
  m.def(
      "as_tensor",
      [](nb::handle data, nb::handle dtype, nb::handle device) -> nb::object {
        const Tensor made = on_device(as_tensor(data, optional_dtype(dtype)), device_beside(data, device));
        const Tensor* given = tensor_of_python(data);
        return given && given->impl() == made.impl() ? nb::borrow(data) : to_python(made);
      },
      nb::arg("data"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      "As tensor, sharing the memory of a tensor or an array where its dtype and alignment allow.");
  m.def(
      "from_numpy",
      [](nb::handle array) {
        WEFT_CHECK_TYPE(
            PyObject_CheckBuffer(array.ptr()) && !PyBytes_Check(array.ptr()),
            fmt::format("from_numpy: expected a NumPy array, got {}", Py_TYPE(array.ptr())->tp_name));
        return tensor_from_buffer(array, false);
      },
      nb::arg("array"),
      "A tensor over the array's memory: no copy, any strides. A read-only array gives a read-only tensor.\n"
      "raises: ValueError where elements or strides are not at multiples of the element size.");
  m.def(
      "from_dlpack", &from_dlpack, nb::arg("x"), nb::kw_only(), nb::arg("device") = nb::none(),
      nb::arg("copy") = nb::none(),
      "A tensor over the memory of an object with __dlpack__, or of a DLPack capsule; a copy with copy=True, "
      "and of elements\nthat do not lie at multiples of their size, which is a ValueError with copy=False.");
  m.def(
      "is_tensor", [](nb::handle object) { return tensor_of_python(object) != nullptr; },
      nb::arg("object").none());
  m.def(
      "promote_types",
      [](nb::handle a, nb::handle b) {
        return to_python(promote_types(dtype_of_python(a), dtype_of_python(b), Promotion::Torch));
      },
      nb::arg("a"), nb::arg("b"), "The dtype of an operation on tensors of the two, by PyTorch's rules.");
}

}  // namespace weft::python
