// The one file that NumPy's table of functions is defined in.
#define WEFT_IMPORT_NUMPY
#include "capture/objects/numpy_api.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "capture/objects/host_tensors.h"
#include "capture/objects/made_once.h"
#include "weft/error.h"

namespace weft::capture {

void import_numpy_api() {
  if (_import_array() < 0) throw PythonError{};
}

bool is_numpy_at_least(int major, int minor) {
  static constinit MadeOnce<std::pair<int, int>> version;
  return version.get([] {
    const Ref module = checked(PyImport_ImportModule("numpy"));
    const Ref text = checked(PyObject_GetAttrString(module.get(), "__version__"));
    std::pair<int, int> found;
    std::sscanf(utf8(text.get()).c_str(), "%d.%d", &found.first, &found.second);
    return found;
  }) >= std::pair(major, minor);
}

std::optional<DType> dtype_of_descr(PyArray_Descr* descr) {
  if (!PyArray_ISNBO(descr->byteorder) || is_annotated(descr)) return std::nullopt;
  switch (descr->type_num) {
    case NPY_BOOL: return DType::Bool;
    case NPY_FLOAT16: return DType::F16;
    case NPY_FLOAT32: return DType::F32;
    case NPY_FLOAT64: return DType::F64;
    case NPY_COMPLEX64: return DType::C64;
    case NPY_COMPLEX128: return DType::C128;
    default: break;
  }
  if (!PyTypeNum_ISINTEGER(descr->type_num)) return std::nullopt;
  const bool is_unsigned = PyTypeNum_ISUNSIGNED(descr->type_num);
  switch (PyDataType_ELSIZE(descr)) {
    case 1: return is_unsigned ? DType::U8 : DType::I8;
    case 2: return is_unsigned ? DType::U16 : DType::I16;
    case 4: return is_unsigned ? DType::U32 : DType::I32;
    case 8: return is_unsigned ? DType::U64 : DType::I64;
    default: return std::nullopt;
  }
}

int type_number(DType dtype) {
  switch (dtype) {
    case DType::Bool: return NPY_BOOL;
    case DType::U8: return NPY_UINT8;
    case DType::I8: return NPY_INT8;
    case DType::U16: return NPY_UINT16;
    case DType::I16: return NPY_INT16;
    case DType::U32: return NPY_UINT32;
    case DType::I32: return NPY_INT32;
    case DType::U64: return NPY_UINT64;
    case DType::I64: return NPY_INT64;
    case DType::F16: return NPY_FLOAT16;
    case DType::BF16:
    case DType::F8E4M3FN:
    case DType::F8E5M2:
    case DType::F8E4M3FNUZ:
    case DType::F8E5M2FNUZ:
    case DType::F8E8M0FNU:
    case DType::QI8:
    case DType::QU8:
    case DType::QI32:
    case DType::QU4x2: return -1;
    case DType::F32: return NPY_FLOAT32;
    case DType::F64: return NPY_FLOAT64;
    case DType::C64: return NPY_COMPLEX64;
    case DType::C128: return NPY_COMPLEX128;
  }
  return -1;
}

namespace {

// Tensors that were over arrays, without memory now: the next calls' are made of them. Guarded by the GIL.
std::vector<Tensor>& spare_tensors() {
  static auto& spare = *new std::vector<Tensor>;
  return spare;
}

Tensor spare_tensor() {
  std::vector<Tensor>& spare = spare_tensors();
  if (spare.empty()) return Tensor(std::make_shared<TensorImpl>());
  Tensor tensor = std::move(spare.back());
  spare.pop_back();
  return tensor;
}

}  // namespace

void give_back_borrowed(Tensor tensor) {
  constexpr size_t kMost = 32;
  if (tensor.impl().use_count() > 1 || spare_tensors().size() >= kMost) return;
  tensor.impl()->storage.reset();
  spare_tensors().push_back(std::move(tensor));
}

Tensor borrow_array(PyArrayObject* array) {
  const int ndim = PyArray_NDIM(array);
  const auto itemsize = static_cast<int64_t>(PyArray_ITEMSIZE(array));
  Tensor tensor = spare_tensor();
  TensorImpl& impl = *tensor.impl();
  impl.dtype = *dtype_of_descr(PyArray_DESCR(array));
  impl.shape.resize(static_cast<size_t>(ndim));
  impl.strides.resize(static_cast<size_t>(ndim));
  int64_t low = 0, high = itemsize;  // extent in bytes around the first element
  bool empty = false;
  for (int d = 0; d < ndim; ++d) {
    const auto size = static_cast<int64_t>(PyArray_DIM(array, d)),
               stride = static_cast<int64_t>(PyArray_STRIDE(array, d));
    impl.shape[static_cast<size_t>(d)] = size;
    impl.strides[static_cast<size_t>(d)] = stride / itemsize;
    if (size == 0)
      empty = true;
    else
      (stride < 0 ? low : high) += (size - 1) * stride;
  }
  if (empty) low = high = 0;
  impl.offset = -low / itemsize;
  impl.storage = Storage::wrap(PyArray_BYTES(array) + low, static_cast<size_t>(high - low), nullptr,
                               !PyArray_ISWRITEABLE(array));
  return tensor;
}

namespace {

constexpr int64_t kCopyLimit = 1024;  // bytes: below, NumPy's own small-block cache is faster than a capsule

// What NumPy asks to free and to enlarge the memory of an array that owns a storage's (NumPy's NEP 49).
struct OwnedStorage {
  PyDataMem_Handler handler{};
  std::shared_ptr<Storage> storage;
};
constexpr const char* kHandler = "mem_handler";  // the name that NumPy gives such capsules

void* enlarge_owned(void* owned, void* data, size_t nbytes) {
  auto& storage = static_cast<OwnedStorage*>(owned)->storage;
  try {
    std::shared_ptr<Storage> larger = Storage::allocate(nbytes);
    const size_t begin = static_cast<size_t>(static_cast<char*>(data) - static_cast<char*>(storage->data()));
    std::memcpy(larger->data(), data, std::min(nbytes, storage->nbytes() - begin));
    storage = std::move(larger);
    return storage->data();
  } catch (const Error&) {
    return nullptr;
  }
}

void let_array_own(PyArrayObject* array, const std::shared_ptr<Storage>& storage) {
  auto owned = std::make_unique<OwnedStorage>();
  owned->storage = storage;
  std::strcpy(owned->handler.name, "weft");
  owned->handler.version = 1;
  PyDataMemAllocator& allocator = owned->handler.allocator;
  allocator.ctx = owned.get();
  allocator.malloc = [](void*, size_t size) { return std::malloc(size); };
  allocator.calloc = [](void*, size_t count, size_t size) { return std::calloc(count, size); };
  allocator.realloc = enlarge_owned;
  allocator.free = [](void* own, void*, size_t) { static_cast<OwnedStorage*>(own)->storage.reset(); };
  const Ref capsule = checked(PyCapsule_New(owned.get(), kHandler, [](PyObject* self) {
    delete static_cast<OwnedStorage*>(PyCapsule_GetPointer(self, kHandler));
  }));
  owned.release();
  reinterpret_cast<PyArrayObject_fields*>(array)->mem_handler = capsule.new_reference();
  PyArray_ENABLEFLAGS(array, NPY_ARRAY_OWNDATA);
}

}  // namespace

Ref make_array(const Tensor& tensor, PyObject* base, bool may_copy) {
  const int type = type_number(tensor.dtype());
  WEFT_CHECK_TYPE(type >= 0, "a bfloat16 result has no NumPy array");
  const auto ndim = static_cast<int>(tensor.dim());
  npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
  const int64_t itemsize = weft::itemsize(tensor.dtype());
  for (int d = 0; d < ndim; ++d) {
    shape[d] = tensor.shape()[static_cast<size_t>(d)];
    strides[d] = tensor.strides()[static_cast<size_t>(d)] * itemsize;
  }
  const int64_t nbytes = tensor.numel() * itemsize;
  if (may_copy && !base && nbytes <= kCopyLimit && tensor.is_contiguous()) {
    Ref result = checked(PyArray_EMPTY(ndim, shape, type, 0));
    if (nbytes > 0)
      std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(result.get())), tensor.data(),
                  static_cast<size_t>(nbytes));
    return result;
  }
  Ref result = checked(PyArray_New(&PyArray_Type, ndim, shape, type, strides, tensor.data(), 0,
                                   tensor.storage()->read_only() ? 0 : NPY_ARRAY_WRITEABLE, nullptr));
  auto* array = reinterpret_cast<PyArrayObject*>(result.get());
  PyArray_UpdateFlags(array, NPY_ARRAY_UPDATE_ALL);
  if (!base)
    let_array_own(array, tensor.storage());
  else {
    // A tensor's object may stand for another tensor while the array lives.
    Ref holder = is_host_tensor(base) ? object_of_tensor(tensor, false) : Ref::borrow(base);
    if (PyArray_SetBaseObject(array, holder.release()) < 0) throw PythonError{};
  }
  return result;
}

Ref make_numpy_scalar(const Tensor& tensor) { return make_numpy_scalar(tensor.data(), tensor.dtype()); }

Ref make_numpy_scalar(const void* number, DType dtype) {
  Ref descr = checked(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(dtype))));
  return checked(
      PyArray_Scalar(const_cast<void*>(number), reinterpret_cast<PyArray_Descr*>(descr.get()), nullptr));
}

Tensor scalar_tensor(PyObject* scalar, DType dtype) {
  Tensor result = Tensor::empty({}, dtype);
  PyArray_ScalarAsCtype(scalar, result.data());
  return result;
}

}  // namespace weft::capture
