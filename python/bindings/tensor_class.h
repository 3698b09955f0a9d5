// What the files that bind weft.Tensor and weft.numpy.ndarray share.
#pragma once

#include <fmt/format.h>

#include "array.h"
#include "bindings.h"
#include "weft/error.h"

namespace weft::python {

// What a method is called on, where it takes its own object.
template <class T>
const T& own(nb::handle self) {
  WEFT_CHECK_TYPE(nb::isinstance<T>(self), fmt::format("Tensor: a method was called on an object of type {}",
                                                       Py_TYPE(self.ptr())->tp_name));
  return *nb::inst_ptr<T>(self);
}

// to, type, cpu, cuda, pin_memory, contiguous, clone, float and so on.
void bind_conversions(nb::class_<Tensor>& c);
void bind_conversions(nb::class_<Array, Tensor>& c);

}  // namespace weft::python
