// Where the elements of an array of NumPy's, or of a tensor, lie.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "capture/objects/py.h"
#include "weft/dtype.h"
#include "weft/tensor.h"

namespace weft::capture {

struct ArrayMemory {
  const char* start = nullptr;  // of the first element
  int num_dims = 0;
  const int64_t *sizes = nullptr, *strides = nullptr;
  int64_t element = 1;  // what strides count an element as
  int64_t unit = 1;     // bytes that strides count by
  bool is_writable = true;

  bool is_contiguous(bool fortran) const;
  bool has_whole_strides() const;  // they are multiples of an element
  // May an element lie where another one does? True for some that do not.
  bool overlaps_itself() const;
  // Bytes the elements lie in: from the first up to, not including, the second.
  std::pair<const char*, const char*> extent() const;
};

// Of an ndarray or a tensor in the host's memory; valid as long as the object is and keeps its shape.
ArrayMemory memory_of(PyObject* object);
// The tensor itself, or one over the array's memory, which give_back_borrowed() takes.
Tensor borrow_memory(PyObject* object);
std::optional<DType> dtype_of_array(PyObject* object);

}  // namespace weft::capture
