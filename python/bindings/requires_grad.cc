#include "requires_grad.h"

#include <fmt/format.h>

#include "bindings.h"
#include "weft/error.h"

namespace weft::python {

namespace {

constexpr const char* kRequiresGrad = "_requires_grad";

}  // namespace

bool requires_grad(nb::handle tensor) {
  PyObject** const attributes = _PyObject_GetDictPtr(tensor.ptr());
  PyObject* const flag =
      attributes && *attributes ? PyDict_GetItemString(*attributes, kRequiresGrad) : nullptr;
  return flag && flag == Py_True;
}

void set_requires_grad(nb::handle tensor, bool value) {
  const Tensor* const own = tensor_of_python(tensor);
  WEFT_CHECK_TYPE(own != nullptr, fmt::format("requires_grad: expected a Tensor, got an object of type {}",
                                              Py_TYPE(tensor.ptr())->tp_name));
  if (value && !is_inexact(own->dtype()))
    throw_error(ErrorKind::Runtime,
                fmt::format("requires_grad: expected a tensor of floating-point or complex numbers, got {}",
                            describe(*own)));
  if (value)
    nb::setattr(tensor, kRequiresGrad, nb::bool_(true));
  else if (requires_grad(tensor))
    nb::delattr(tensor, kRequiresGrad);
}

}  // namespace weft::python
