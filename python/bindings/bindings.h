// What the files of the extension module share. Functions that return PyObject* give a new reference and
// throw nanobind::python_error or weft::Error on failure.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "interpreter_lock.h"
#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::python {

namespace nb = nanobind;

// ---- dtypes and devices (dtype.cc) -----------------------------------------------------------------------
nb::object to_python(DType dtype);  // the one weft.dtype object of it
// weft.dtype, a NumPy dtype or scalar type, bool/int/float/complex, or a name; TypeError otherwise.
DType dtype_of_python(nb::handle object);
std::optional<DType> optional_dtype(nb::handle object);
// weft.device or text.
Device device_of_python(nb::handle object);
// Of the innermost `with weft.device(...)` of this thread; the host outside of any.
Device default_device();

// ---- sizes that a graph being captured does not know ----------------------------------------------------
// An object that operators take for an int; what else reads it pins it to its value at capture.
nb::object symbolic_int_object(Sym size);
const Sym* symbolic_int(PyObject* object);  // null for any other object
void bind_symbolic_int(nb::module_& m);

// ---- tensors ---------------------------------------------------------------------------------------------
nb::object to_python(const Tensor& tensor);
// The tensor of a weft.Tensor object; null for any other object.
const Tensor* tensor_of_python(nb::handle object);
// bool, int, float, complex and NumPy scalars; nullopt for anything else.
std::optional<Scalar> scalar_of_python(nb::handle object);
Shape shape_of_python(nb::handle object, const char* what);
// weft.Size, a subclass of tuple; its objects are made of a shape.
extern PyTypeObject* size_type;
nb::object size_object(const Shape& shape);
nb::object element_to_python(DType dtype, const void* element);
nb::object to_list(const Tensor& tensor);
// A weft tensor, an array (no copy), a scalar or nested sequences (copied).
Tensor as_tensor(nb::handle data, std::optional<DType> dtype);
Tensor tensor_from_data(nb::handle data, std::optional<DType> dtype);

// ---- memory shared with others ---------------------------------------------------------------------------
// Another's memory as a storage. Operators read and write whole elements: where these do not lie at multiples
// of their size, a copy, or a ValueError that names `what`.
std::shared_ptr<Storage> shared_storage(const char* what, void* start, size_t nbytes, DType dtype,
                                        std::function<void()> release, bool read_only, bool may_copy);
// Shares the memory of an object that exports a buffer; `may_copy`: or copies it, where it cannot be shared.
Tensor tensor_from_buffer(nb::handle object, bool may_copy);
// A NumPy array over the tensor's memory; TypeError for bfloat16, which NumPy does not have.
nb::object to_numpy(const Tensor& tensor);
extern PyType_Slot kBufferSlots[];
nb::object to_dlpack(const Tensor& tensor, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                     nb::handle copy);
nb::object cuda_array_interface(const Tensor& tensor);
Tensor from_dlpack(nb::handle object, nb::handle device, nb::handle copy);
// Throws unless the tensor's elements can be read by the host.
void require_host(const Tensor& tensor, const char* what);
// The tensor, or a copy of it that the process can read; TypeError where it has no elements.
Tensor on_host(const Tensor& tensor, const char* what);

// ---- indexing (indexing.cc) ------------------------------------------------------------------------------
Tensor get_item(const Tensor& tensor, nb::handle index, Promotion rules = Promotion::Torch);
void set_item(const Tensor& tensor, nb::handle index, nb::handle value, Promotion rules);
// Indexing of tensors is refused where PyTorch refuses it. Off, as weft's own tensors have it, until
// weft.torch is imported.
void set_torch_refusals(bool on);
bool torch_refuses(Promotion rules);

// ---- operators (ops.cc) ----------------------------------------------------------------------------------
// The operator behind a function such as weft.add; null for any other object.
const ops::OpDef* operator_of_python(nb::handle object);

void bind_dtypes(nb::module_& m);
void bind_print_options(nb::module_& m);
void bind_size(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_creation(nb::module_& m);
void bind_operators(nb::module_& m);
void bind_overriding(nb::module_& m);
void bind_threads(nb::module_& m);
void bind_builtins(nb::module_& m);
void bind_block_kernels(nb::module_& m);
void bind_gpu(nb::module_& m);

}  // namespace weft::python
