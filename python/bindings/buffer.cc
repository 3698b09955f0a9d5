// The buffer protocol both ways, and NumPy through it: no copies.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <typeinfo>

#include "bindings.h"
#include "core/backend.h"
#include "core/memory_watch.h"
#include "weft/error.h"

namespace weft::python {

namespace {

// "l" where it has 64 bits: NumPy takes "q" for its second type of that size.
constexpr const char *kSigned64 = sizeof(long) == 8 ? "l" : "q", *kUnsigned64 = sizeof(long) == 8 ? "L" : "Q";
constexpr const char* kFormats[kNumStoredDTypes] = {"?",       "B", "b",     "H", "h", "I",  "i", kUnsigned64,
                                                    kSigned64, "e", nullptr, "f", "d", "Zf", "Zd"};

std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  if (!format) return DType::U8;
  if (*format == '@' || *format == '=' || (*format == '<' && std::endian::native == std::endian::little))
    ++format;
  if (std::strcmp(format, "Zf") == 0) return DType::C64;
  if (std::strcmp(format, "Zd") == 0) return DType::C128;
  if (std::strlen(format) != 1) return std::nullopt;
  const auto pick = [&](DType one, DType two, DType four, DType eight) -> std::optional<DType> {
    return size == 1 ? one : size == 2 ? two : size == 4 ? four : eight;
  };
  switch (*format) {
    case '?': return DType::Bool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return pick(DType::I8, DType::I16, DType::I32, DType::I64);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N': return pick(DType::U8, DType::U16, DType::U32, DType::U64);
    case 'e': return DType::F16;
    case 'f': return DType::F32;
    case 'd': return DType::F64;
    default: return std::nullopt;
  }
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  const Tensor& tensor = *tensor_of_python(self);
  const auto fail = [](const std::string& message) {
    PyErr_SetString(PyExc_BufferError, message.c_str());
    return -1;
  };
  const char* format = kFormats[static_cast<size_t>(tensor.dtype())];
  if (!format) return fail("buffer: bfloat16 has no buffer format; convert to float32 first");
  if (!is_on_host(tensor.device()))
    return fail("buffer: a tensor on " + tensor.device().str() + " has no host memory");
  if (!tensor.storage()) return fail("buffer: a tensor of a trace has no elements");
  const bool read_only = tensor.storage()->read_only();
  if ((flags & PyBUF_WRITABLE) && read_only) return fail("buffer: the tensor is read-only");
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !tensor.is_contiguous())
    return fail("buffer: the tensor is not contiguous");
  // What holds the memory: `self` may stand for another tensor before the buffer is released.
  nb::object holder;
  try {
    holder = nb::cast(Tensor(tensor.impl()));
  } catch (nb::python_error& error) {
    error.restore();
    return -1;
  } catch (const std::bad_cast&) {
    return fail("buffer: no object can be made that holds the tensor's memory");
  }
  const size_t n = tensor.shape().size();
  // Shape and strides in bytes, freed by release_buffer.
  Py_ssize_t* sizes = new Py_ssize_t[2 * n + 1];
  for (size_t d = 0; d < n; ++d) {
    sizes[d] = tensor.shape()[d];
    sizes[n + d] = tensor.strides()[d] * itemsize(tensor.dtype());
  }
  note_exposed(tensor.storage());
  view->buf = tensor.data();
  view->obj = holder.release().ptr();
  view->itemsize = itemsize(tensor.dtype());
  view->len = tensor.numel() * view->itemsize;
  view->readonly = read_only;
  view->ndim = static_cast<int>(n);
  view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
  view->shape = (flags & PyBUF_ND) ? sizes : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? sizes + n : nullptr;
  view->suboffsets = nullptr;
  view->internal = sizes;
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

// The bytes from `start` on in memory of weft's own.
std::shared_ptr<Storage> copied(const void* start, size_t nbytes) {
  std::shared_ptr<Storage> storage = Storage::allocate(nbytes);
  if (nbytes) std::memcpy(storage->data(), start, nbytes);
  return storage;
}

}  // namespace

std::shared_ptr<Storage> shared_storage(const char* what, void* start, size_t nbytes, DType dtype,
                                        std::function<void()> release, bool read_only, bool may_copy) {
  const size_t unit = static_cast<size_t>(itemsize(real_dtype(dtype)));
  const size_t excess = reinterpret_cast<uintptr_t>(start) % unit;
  if (excess == 0 || nbytes == 0) {
    std::shared_ptr<Storage> storage = Storage::wrap(start, nbytes, std::move(release), read_only);
    note_exposed(storage);
    return storage;
  }
  if (!may_copy) {
    release();
    throw_error(ErrorKind::Value,
                fmt::format("{}: the elements of an array must lie at multiples of their size: {} at an "
                            "address that is {} bytes past a multiple of {}; copy the array first",
                            what, name(dtype), excess, unit));
  }
  std::shared_ptr<Storage> storage = copied(start, nbytes);
  release();
  return storage;
}

PyType_Slot kBufferSlots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(&release_buffer)},
    {0, nullptr},
};

Tensor tensor_from_buffer(nb::handle object, bool may_copy) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    nb::python_error error;
    throw_error(ErrorKind::Type, fmt::format("from_numpy: expected an array of numbers or bool, got {}: {}",
                                             Py_TYPE(object.ptr())->tp_name, error.what()));
  }
  // From here on the view is released by the storage, or below on failure.
  const auto release = [](Py_buffer* owned) {
    with_gil([&] { PyBuffer_Release(owned); });
    delete owned;
  };
  std::shared_ptr<Py_buffer> owner(view.release(), release);
  const std::optional<DType> dtype = dtype_of_format(owner->format, owner->itemsize);
  WEFT_CHECK_TYPE(
      dtype && itemsize(*dtype) == owner->itemsize,
      fmt::format("from_numpy: expected native numbers or bool, got buffer format '{}' of {} bytes",
                  owner->format ? owner->format : "", owner->itemsize));
  const size_t n = static_cast<size_t>(owner->ndim);
  Shape shape(owner->shape, owner->shape + n);
  Strides strides(n);
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < n; ++d) {
    WEFT_CHECK(owner->strides[d] % owner->itemsize == 0 || shape[d] <= 1,
               fmt::format("from_numpy: strides must be multiples of the element size {}, got {} bytes; copy "
                           "the array first",
                           owner->itemsize, static_cast<int64_t>(owner->strides[d])));
    strides[d] = owner->strides[d] / owner->itemsize;
    (strides[d] < 0 ? low : high) += (shape[d] - 1) * strides[d];
  }
  const bool empty = numel(shape) == 0;
  if (empty) low = high = 0;
  char* start = static_cast<char*>(owner->buf) + low * owner->itemsize;
  const size_t nbytes = empty ? 0 : static_cast<size_t>((high - low + 1) * owner->itemsize);
  const bool read_only = owner->readonly;
  auto storage = shared_storage(
      "from_numpy", start, nbytes, *dtype, [owner = std::move(owner)]() mutable { owner.reset(); }, read_only,
      may_copy);
  return Tensor(std::move(storage), *dtype, std::move(shape), std::move(strides), -low);
}

void require_host(const Tensor& tensor, const char* what) {
  WEFT_CHECK_TYPE(is_on_host(tensor.device()),
                  fmt::format("{}: a tensor on {} has no elements on the host", what, tensor.device().str()));
}

Tensor on_host(const Tensor& tensor, const char* what) {
  if (is_on_host(tensor.device())) return tensor;
  if (!has_memory(tensor.device())) require_host(tensor, what);
  return tensor.to(Device());
}

nb::object to_numpy(const Tensor& tensor) {
  require_host(tensor, "numpy");
  if (!tensor.storage()) throw_error(ErrorKind::NotImplemented, "numpy: a tensor of a trace has no elements");
  WEFT_CHECK_TYPE(
      !is_stored_only(tensor.dtype()),
      fmt::format("numpy: NumPy has no {}; convert with .to(weft.float32) first, or view the bytes as uint8",
                  name(tensor.dtype())));
  WEFT_CHECK_TYPE(tensor.dtype() != DType::BF16,
                  "numpy: NumPy has no bfloat16; convert with .to(weft.float32) first");
  constexpr int64_t kMostDimensions = 64;  // NPY_MAXDIMS
  if (tensor.dim() > kMostDimensions)
    throw_error(ErrorKind::Value, fmt::format("numpy: NumPy's arrays have at most {} dimensions, got {}",
                                              kMostDimensions, tensor.dim()));
  return nb::module_::import_("numpy").attr("asarray")(to_python(tensor));
}

}  // namespace weft::python
