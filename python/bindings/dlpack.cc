// DLPack both ways: versioned capsules where the consumer asks for them, legacy ones otherwise.
#include "dlpack.h"

#include <fmt/format.h>

#include "bindings.h"
#include "core/backend.h"
#include "core/memory_watch.h"
#include "errors.h"
#include "interpreter_lock.h"
#include "weft/error.h"

namespace weft::python {

namespace {

using namespace dlpack;

DataType data_type(DType dtype) {
  const uint8_t bits = static_cast<uint8_t>(8 * itemsize(dtype));
  WEFT_CHECK_TYPE(!is_stored_only(dtype),
                  fmt::format("__dlpack__: tensors of {} are not exported", name(dtype)));
  if (dtype == DType::BF16) return {kBFloat, bits, 1};
  switch (info(dtype).kind) {
    case DTypeKind::Bool: return {kBool, bits, 1};
    case DTypeKind::Unsigned: return {kUInt, bits, 1};
    case DTypeKind::Signed: return {kInt, bits, 1};
    case DTypeKind::Float: return {kFloat, bits, 1};
    case DTypeKind::Complex: break;
  }
  return {kComplex, bits, 1};
}

DType dtype_of(DataType type) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DataType candidate = data_type(static_cast<DType>(i));
    if (candidate.code == type.code && candidate.bits == type.bits && type.lanes == 1)
      return static_cast<DType>(i);
  }
  throw_error(ErrorKind::Type,
              fmt::format("from_dlpack: element type (code {}, {} bits, {} lanes) is not supported",
                          type.code, type.bits, type.lanes));
}

// An exported tensor: the structure and the arrays that it points to.
template <class M>
struct Export {
  M managed{};
  Tensor tensor;
  Shape shape;
  Strides strides;
};

void fill(DLTensor& out, const Tensor& tensor, Shape& shape, Strides& strides) {
  out.data = tensor.data();
  const bool is_on_gpu = tensor.device().type == DeviceType::CUDA;
  out.device = is_on_gpu ? DLDevice{kCUDA, tensor.device().index} : DLDevice{kCPU, 0};
  out.ndim = static_cast<int32_t>(tensor.dim());
  out.dtype = data_type(tensor.dtype());
  out.shape = shape.data();
  out.strides = strides.data();
  out.byte_offset = 0;
}

template <class M>
M* export_tensor(const Tensor& tensor) {
  auto* exported = new Export<M>{{}, tensor, tensor.shape(), tensor.strides()};
  exported->managed.context = exported;
  exported->managed.deleter = [](M* managed) { delete static_cast<Export<M>*>(managed->context); };
  fill(exported->managed.tensor, tensor, exported->shape, exported->strides);
  return &exported->managed;
}

// A capsule's destructor runs the deleter unless a consumer has taken the tensor and renamed the capsule.
template <class M>
nb::object make_capsule(M* managed, const char* name) {
  PyObject* capsule = PyCapsule_New(managed, name, [](PyObject* self) {
    const char* current = PyCapsule_GetName(self);
    if (current && std::string_view(current).starts_with("used_")) return;
    M* owned = static_cast<M*>(PyCapsule_GetPointer(self, current));
    if (owned && owned->deleter) owned->deleter(owned);
  });
  if (!capsule) nb::raise_python_error();
  return nb::steal(capsule);
}

void wait_for(Device device) {
  const Backend& backend = backend_of(device);
  backend.synchronize(backend.current_stream(device.index));
}

template <class M>
Tensor import_tensor(M* managed, bool read_only, bool may_copy) {
  const std::shared_ptr<M> owner(managed, [](M* owned) {
    if (owned->deleter) with_gil([&] { owned->deleter(owned); });
  });
  const DLTensor& source = managed->tensor;
  const bool is_on_gpu = source.device.type == kCUDA;
  const Device device = is_on_gpu ? Device{DeviceType::CUDA, source.device.id} : Device{};
  if (is_on_gpu)
    require_available(device);
  else if (source.device.type != kCPU && source.device.type != kCUDAHost)
    throw_error(ErrorKind::Runtime,
                fmt::format("from_dlpack: device type {} cannot be used: weft's are the CPU (1, 3) "
                            "and CUDA (2)",
                            source.device.type));
  const DType dtype = dtype_of(source.dtype);
  const Shape shape(source.shape, source.shape + source.ndim);
  const Strides strides =
      source.strides ? Strides(source.strides, source.strides + source.ndim) : contiguous_strides(shape);
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < shape.size(); ++d) (strides[d] < 0 ? low : high) += (shape[d] - 1) * strides[d];
  const bool empty = numel(shape) == 0;
  if (empty) low = high = 0;
  char* start = static_cast<char*>(source.data) + source.byte_offset + low * itemsize(dtype);
  const size_t nbytes =
      empty ? 0 : static_cast<size_t>(high - low + 1) * static_cast<size_t>(itemsize(dtype));
  if (is_on_gpu) {
    // What its owner does with the memory next, weft's work must not meet.
    auto held = Storage::wrap(start, nbytes, [owner, device] { wait_for(device); }, read_only, device);
    return Tensor(std::move(held), dtype, shape, strides, -low);
  }
  auto storage = shared_storage("from_dlpack", start, nbytes, dtype, [owner] {}, read_only, may_copy);
  return Tensor(std::move(storage), dtype, shape, strides, -low);
}

// Of a pair of ints.
int64_t first_of(nb::handle pair, const char* argument) {
  const bool is_pair = PyTuple_Check(pair.ptr()) && PyTuple_GET_SIZE(pair.ptr()) == 2;
  int64_t first = 0;
  WEFT_CHECK_TYPE(
      is_pair && nb::try_cast<int64_t>(nb::borrow<nb::tuple>(pair)[0], first),
      fmt::format("__dlpack__: expected {} to be a pair of ints, got {}", argument, repr_text(pair)));
  return first;
}

}  // namespace

nb::object to_dlpack(const Tensor& tensor, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                     nb::handle copy) {
  const bool is_on_gpu = tensor.device().type == DeviceType::CUDA;
  if (!is_on_gpu) {
    require_host(tensor, "__dlpack__");
    WEFT_CHECK(stream.is_none(), "__dlpack__: a CPU tensor has no stream");
  }
  if (!tensor.storage())
    throw_error(ErrorKind::NotImplemented, "__dlpack__: a tensor of a trace has no elements");
  if (!dl_device.is_none()) {
    if (first_of(dl_device, "dl_device") != (is_on_gpu ? kCUDA : kCPU)) {
      PyErr_SetString(PyExc_BufferError,
                      is_on_gpu ? "__dlpack__: a tensor on a GPU can be exported to device (2, …) only"
                                : "__dlpack__: a CPU tensor can be exported to device (1, 0) only");
      nb::raise_python_error();
    }
  }
  const bool versioned = !max_version.is_none() && first_of(max_version, "max_version") >= 1;
  const bool must_copy = !copy.is_none() && nb::cast<bool>(copy);
  WEFT_CHECK_TYPE(!tensor.is_traced(), "to_dlpack: a value of a graph has no memory");
  const bool read_only = tensor.storage()->read_only() && !must_copy;
  const Tensor exported = must_copy ? tensor.clone() : tensor;
  note_exposed(exported.storage());
  // The consumer's stream would have to wait for weft's, whose work ends here in place of that; -1: it need
  // not.
  if (is_on_gpu && !(PyLong_Check(stream.ptr()) && PyLong_AsLong(stream.ptr()) == -1)) {
    const GilRelease released;
    wait_for(tensor.device());
  }
  if (!versioned) {
    if (read_only) {
      PyErr_SetString(PyExc_BufferError,
                      "__dlpack__: a read-only tensor needs DLPack 1.0 (max_version=(1, 0)) or copy=True");
      nb::raise_python_error();
    }
    return make_capsule(export_tensor<Managed>(exported), "dltensor");
  }
  ManagedVersioned* managed = export_tensor<ManagedVersioned>(exported);
  managed->version = {1, 0};
  managed->flags = (read_only ? kFlagReadOnly : 0) | (must_copy ? kFlagCopied : 0);
  return make_capsule(managed, "dltensor_versioned");
}

nb::object cuda_array_interface(const Tensor& tensor) {
  if (tensor.device().type != DeviceType::CUDA) {
    PyErr_SetString(PyExc_AttributeError, "__cuda_array_interface__: the tensor is not on a GPU");
    nb::raise_python_error();
  }
  const DType dtype = tensor.dtype();
  const char* kind = nullptr;
  switch (info(dtype).kind) {
    case DTypeKind::Bool: kind = "b"; break;
    case DTypeKind::Unsigned: kind = "u"; break;
    case DTypeKind::Signed: kind = "i"; break;
    case DTypeKind::Float: kind = "f"; break;
    case DTypeKind::Complex: kind = "c"; break;
  }
  WEFT_CHECK_TYPE(dtype != DType::BF16 && !is_stored_only(dtype),
                  fmt::format("__cuda_array_interface__: NumPy has no name for {}", name(dtype)));
  note_exposed(tensor.storage());
  nb::dict result;
  nb::list shape, strides;
  for (const int64_t size : tensor.shape()) shape.append(size);
  for (const int64_t step : tensor.strides()) strides.append(step * itemsize(dtype));
  result["shape"] = nb::tuple(shape);
  result["strides"] = nb::tuple(strides);
  result["typestr"] = fmt::format("{}{}{}", itemsize(dtype) == 1 ? "|" : "<", kind, itemsize(dtype));
  result["data"] = nb::make_tuple(tensor.numel() == 0 ? 0 : reinterpret_cast<uintptr_t>(tensor.data()),
                                  tensor.storage()->read_only());
  result["version"] = 3;
  // Consumers wait for this stream.
  result["stream"] =
      reinterpret_cast<uintptr_t>(backend_of(tensor.device()).current_stream(tensor.device().index).handle);
  return result;
}

Tensor from_dlpack(nb::handle object, nb::handle device, nb::handle copy) {
  require_available(device_of_python(device));
  const bool may_copy = copy.is_none() || nb::cast<bool>(copy);
  nb::object capsule;
  if (PyCapsule_CheckExact(object.ptr())) {
    capsule = nb::borrow(object);
  } else {
    WEFT_CHECK_TYPE(nb::hasattr(object, "__dlpack__"),
                    fmt::format("from_dlpack: expected an object with __dlpack__, got {}",
                                Py_TYPE(object.ptr())->tp_name));
    nb::object method = object.attr("__dlpack__");
    nb::dict keywords;
    keywords["max_version"] = nb::make_tuple(1, 0);
    if (!copy.is_none()) keywords["copy"] = copy;
    // A producer on a GPU lets weft's stream wait for its own.
    if (nb::hasattr(object, "__dlpack_device__")) {
      const nb::object place = object.attr("__dlpack_device__")();
      if (first_of(place, "__dlpack_device__") == kCUDA) {
        const Device where{DeviceType::CUDA, nb::cast<int>(nb::borrow<nb::tuple>(place)[1])};
        require_available(where);
        keywords["stream"] =
            reinterpret_cast<uintptr_t>(backend_of(where).current_stream(where.index).handle);
      }
    }
    try {
      capsule = method(**keywords);
    } catch (nb::python_error& error) {
      // Producers before DLPack 1.0 do not know these keywords.
      if (!error.matches(PyExc_TypeError) || !copy.is_none()) throw;
      capsule = method();
    }
  }
  const char* name = PyCapsule_GetName(capsule.ptr());
  const std::string_view kind = name ? name : "";
  if (kind == "dltensor_versioned") {
    auto* managed = static_cast<ManagedVersioned*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (managed->version.major != 1) {
      PyErr_Format(PyExc_BufferError, "from_dlpack: version %u.%u is not supported", managed->version.major,
                   managed->version.minor);
      nb::raise_python_error();
    }
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    return import_tensor(managed, (managed->flags & kFlagReadOnly) != 0, may_copy);
  }
  if (kind == "dltensor") {
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    return import_tensor(managed, false, may_copy);
  }
  PyErr_Clear();
  throw_error(ErrorKind::Value,
              fmt::format("from_dlpack: expected an unused DLPack capsule, got one named '{}'", kind));
}

}  // namespace weft::python
