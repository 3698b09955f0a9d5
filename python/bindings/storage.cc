// What torch.load, torch.save and torch.storage need of a tensor's storage: its bytes, and tensors over them.
#include <fmt/format.h>

#include "bindings.h"
#include "io/unpickle_call.h"
#include "ivalue.h"
#include "weft/error.h"

namespace weft::python {

namespace {

const Tensor& stored(nb::handle object, const char* what) {
  const Tensor* tensor = tensor_of_python(object);
  WEFT_CHECK_TYPE(tensor && tensor->storage(), fmt::format("{}: expected a tensor with elements, got {}",
                                                           what, Py_TYPE(object.ptr())->tp_name));
  return *tensor;
}

// All bytes of the tensor's storage, as a tensor that shares them.
nb::object storage_bytes(nb::handle object) {
  const Tensor& tensor = stored(object, "storage");
  const auto nbytes = static_cast<int64_t>(tensor.storage()->nbytes());
  return to_python(Tensor(tensor.storage(), DType::U8, {nbytes}, {1}, 0));
}

// A tensor over the storage of `object`; ValueError where it would reach outside.
nb::object storage_view(nb::handle object, nb::handle dtype_object, nb::handle size, nb::handle stride,
                        int64_t offset) {
  const Tensor& tensor = stored(object, "storage");
  const DType dtype = dtype_of_python(dtype_object);
  const Shape shape = shape_of_python(size, "size"), strides = shape_of_python(stride, "stride");
  WEFT_CHECK(
      shape.size() == strides.size() && offset >= 0,
      fmt::format(
          "storage: expected as many strides as sizes and an offset of at least 0, got {} sizes, {} strides, "
          "offset {}",
          shape.size(), strides.size(), offset));
  for (size_t d = 0; d < shape.size(); ++d)
    WEFT_CHECK(shape[d] >= 0 && strides[d] >= 0,
               fmt::format("storage: expected sizes and strides of at least 0, got size {} and stride {}",
                           shape[d], strides[d]));
  const size_t nbytes = tensor.storage()->nbytes();
  jit::check_extent(shape, strides, offset, dtype, nbytes);
  const auto address = reinterpret_cast<uintptr_t>(tensor.storage()->data());
  const auto part = static_cast<size_t>(itemsize(real_dtype(dtype)));
  WEFT_CHECK(nbytes == 0 || address % part == 0,
             fmt::format("storage: elements of {} must lie at multiples of {} bytes", name(dtype), part));
  return to_python(Tensor(tensor.storage(), dtype, shape, Strides(strides.begin(), strides.end()), offset));
}

}  // namespace

void bind_storage(nb::module_& m) {
  m.def("_storage_bytes", &storage_bytes, nb::arg("tensor"));
  m.def("_storage_view", &storage_view, nb::arg("tensor"), nb::arg("dtype"), nb::arg("size"),
        nb::arg("stride"), nb::arg("offset"));
}

}  // namespace weft::python
