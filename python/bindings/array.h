// weft.numpy.ndarray: a tensor whose operators follow NumPy's promotion and give such arrays.
#pragma once

#include <utility>

#include "bindings.h"

namespace weft::python {

struct Array : Tensor {
  explicit Array(Tensor tensor) : Tensor(std::move(tensor)) {}
};

void bind_array(nb::module_& m);

// The class itself; it has no subclasses.
extern PyTypeObject* array_type;
inline bool is_array(PyObject* object) { return Py_TYPE(object) == array_type; }

// NumPy's rules where one of the arguments, or an item of a list or tuple among them, is an array.
inline Promotion rules_of(PyObject* const* args, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (is_array(args[i])) return Promotion::NumPy;
    if (!PyList_CheckExact(args[i]) && !PyTuple_CheckExact(args[i])) continue;
    for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(args[i]); ++j)
      if (is_array(PySequence_Fast_GET_ITEM(args[i], j))) return Promotion::NumPy;
  }
  return Promotion::Torch;
}

// The tensor as an object of the class whose operators follow these rules.
inline nb::object to_python(const Tensor& tensor, Promotion rules) {
  return rules == Promotion::NumPy && tensor.defined() ? nb::cast(Array(tensor)) : to_python(tensor);
}

}  // namespace weft::python
