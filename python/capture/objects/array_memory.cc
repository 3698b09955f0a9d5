#include "capture/objects/array_memory.h"

#include <cstdlib>

#include "bindings.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

bool ArrayMemory::is_contiguous(bool fortran) const {
  int64_t step = element;
  for (int i = 0; i < num_dims; ++i) {
    const int d = fortran ? i : num_dims - 1 - i;
    if (sizes[d] == 0) return true;
    if (sizes[d] != 1 && strides[d] != step) {
      // An array without elements is in any order.
      for (int other = 0; other < num_dims; ++other)
        if (sizes[other] == 0) return true;
      return false;
    }
    step *= sizes[d];
  }
  return true;
}

bool ArrayMemory::has_whole_strides() const {
  for (int d = 0; d < num_dims; ++d)
    if (strides[d] % element != 0) return false;
  return true;
}

bool ArrayMemory::overlaps_itself() const {
  // What the dimensions of smaller strides reach over fits between two elements of one.
  for (int d = 0; d < num_dims; ++d) {
    if (sizes[d] == 0) return false;
    if (sizes[d] == 1) continue;
    int64_t reach = element;
    for (int other = 0; other < num_dims; ++other) {
      const int64_t inner = std::abs(strides[other]), outer = std::abs(strides[d]);
      if (other != d && (inner < outer || (inner == outer && other > d))) reach += (sizes[other] - 1) * inner;
    }
    if (std::abs(strides[d]) < reach) return true;
  }
  return false;
}

std::pair<const char*, const char*> ArrayMemory::extent() const {
  const char *low = start, *high = start + element * unit;
  for (int d = 0; d < num_dims; ++d) {
    if (sizes[d] == 0) return {start, start};
    const int64_t distance = (sizes[d] - 1) * strides[d] * unit;
    (distance < 0 ? low : high) += distance;
  }
  return {low, high};
}

ArrayMemory memory_of(PyObject* object) {
  if (PyArray_CheckExact(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    static_assert(sizeof(npy_intp) == sizeof(int64_t));
    return {.start = PyArray_BYTES(array),
            .num_dims = PyArray_NDIM(array),
            .sizes = reinterpret_cast<const int64_t*>(PyArray_DIMS(array)),
            .strides = reinterpret_cast<const int64_t*>(PyArray_STRIDES(array)),
            .element = PyArray_ITEMSIZE(array),
            .unit = 1,
            .is_writable = PyArray_ISWRITEABLE(array) != 0};
  }
  const Tensor& tensor = *python::tensor_of_python(object);
  return {.start = static_cast<const char*>(tensor.data()),
          .num_dims = static_cast<int>(tensor.dim()),
          .sizes = tensor.shape().data(),
          .strides = tensor.strides().data(),
          .element = 1,
          .unit = static_cast<int64_t>(itemsize(tensor.dtype())),
          .is_writable = !tensor.storage()->read_only()};
}

Tensor borrow_memory(PyObject* object) {
  return PyArray_CheckExact(object) ? borrow_array(reinterpret_cast<PyArrayObject*>(object))
                                    : *python::tensor_of_python(object);
}

std::optional<DType> dtype_of_array(PyObject* object) {
  if (PyArray_CheckExact(object))
    return dtype_of_descr(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(object)));
  return python::tensor_of_python(object)->dtype();
}

}  // namespace weft::capture
