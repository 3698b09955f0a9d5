// NumPy's C API, shared by the files of capture.
#pragma once

#include "capture/objects/py.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL weft_capture_array_api
#define PY_UFUNC_UNIQUE_SYMBOL weft_capture_ufunc_api
#ifndef WEFT_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <optional>

#include "weft/tensor.h"

namespace weft::capture {

// Before anything else of NumPy's API; any number of times.
void import_numpy_api();
// Of the NumPy that is there: what changed between versions is asked for here.
bool is_numpy_at_least(int major, int minor);
std::optional<DType> dtype_of_descr(PyArray_Descr* descr);  // native byte order only, not annotated
// Has it names for parts of its numbers (np.dtype((np.int32, {...}))), or metadata? Arrays of it are NumPy's.
inline bool is_annotated(PyArray_Descr* descr) {
  return PyDataType_NAMES(descr) != nullptr || PyDataType_METADATA(descr) != nullptr;
}
int type_number(DType dtype);  // NPY_*; -1 where NumPy has no such type
// A tensor over the array's memory; the caller keeps the array alive while the tensor is used.
Tensor borrow_array(PyArrayObject* array);
// A tensor of borrow_array that the caller needs no longer.
void give_back_borrowed(Tensor tensor);
// A new array over the tensor's memory, or a copy when it is small; `base`: the array it is a view of.
Ref make_array(const Tensor& tensor, PyObject* base, bool may_copy = true);
Ref make_numpy_scalar(const Tensor& tensor);
Ref make_numpy_scalar(const void* number, DType dtype);
// The 0-d tensor of a NumPy scalar's value.
Tensor scalar_tensor(PyObject* scalar, DType dtype);

}  // namespace weft::capture
