// Tensors from Python data and from other libraries' arrays.
#include <fmt/format.h>

#include "bindings.h"
#include "weft/error.h"

namespace weft::python {

namespace {

Tensor on_device(const Tensor& tensor, nb::handle device) {
  return tensor.to(device.is_none() ? default_device() : device_of_python(device));
}

}  // namespace

void bind_creation(nb::module_& m) {
  m.def(
      "tensor",
      [](nb::handle data, nb::handle dtype, nb::handle device) {
        return on_device(tensor_from_data(data, optional_dtype(dtype)), device);
      },
      nb::arg("data"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      "tensor(data, *, dtype=None, device=None) -> Tensor\n\n"
      "A copy of numbers, nested sequences or an array. Python floats become float32, ints int64.\n"
      "raises: ValueError for ragged sequences and integers that do not fit; TypeError for anything but "
      "numbers.");
  const auto asarray = [](nb::handle data, nb::handle dtype, nb::handle device) {
    return on_device(as_tensor(data, optional_dtype(dtype)), device);
  };
  m.def("asarray", asarray, nb::arg("data"), nb::kw_only(), nb::arg("dtype") = nb::none(),
        nb::arg("device") = nb::none(),
        "As tensor, sharing the memory of a tensor or an array where its dtype and alignment allow.");
  m.def("as_tensor", asarray, nb::arg("data"), nb::kw_only(), nb::arg("dtype") = nb::none(),
        nb::arg("device") = nb::none(), "As asarray.");
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
