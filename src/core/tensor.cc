#include "weft/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <optional>
#include <string>

#include "core/backend.h"
#include "core/copy.h"
#include "core/distinct_elements.h"
#include "core/memory_watch.h"
#include "core/profiling.h"
#include "core/quantized.h"
#include "core/trace_handle.h"
#include "weft/error.h"

namespace weft {

int64_t numel(const Shape& shape) {
  int64_t result = 1;
  for (const int64_t size : shape) {
    WEFT_CHECK(!__builtin_mul_overflow(result, size, &result),
               fmt::format("shape {}: the number of elements does not fit 64 bits", str(shape)));
  }
  return result;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<int64_t>(shape[d], 1);
  }
  return strides;
}

std::string str(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

namespace {

// First and last element that a view reaches, relative to its offset; last < first for an empty one. Nothing
// where a number does not fit 64 bits.
std::optional<std::pair<int64_t, int64_t>> checked_extent(const Shape& shape, const Strides& strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return std::pair<int64_t, int64_t>(0, -1);
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t& end = strides[d] < 0 ? low : high;
    int64_t length;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &length) ||
        __builtin_add_overflow(end, length, &end))
      return std::nullopt;
  }
  return std::pair(low, high);
}
// Of a tensor, whose view is within its storage.
std::pair<int64_t, int64_t> extent(const Shape& shape, const Strides& strides) {
  return checked_extent(shape, strides).value();
}

size_t bytes_of(const Shape& shape, DType dtype) {
  for (const int64_t size : shape) {
    WEFT_CHECK(size >= 0, fmt::format("shape {}: sizes must not be negative", str(shape)));
  }
  int64_t bytes;
  if (__builtin_mul_overflow(numel(shape), int64_t{itemsize(dtype)}, &bytes)) {
    throw_error(ErrorKind::Memory,
                fmt::format("allocate: {}{} has more bytes than fit 64 bits", short_name(dtype), str(shape)));
  }
  return static_cast<size_t>(bytes);
}

void check_not_traced(const Tensor& tensor, const char* what) {
  if (tensor.is_traced()) {
    throw_error(ErrorKind::NotImplemented,
                fmt::format("{}: the elements of a traced tensor are not known while it is traced", what));
  }
}

}  // namespace

Tensor::Tensor(std::shared_ptr<Storage> storage, DType dtype, Shape shape, Strides strides, int64_t offset) {
  WEFT_ASSERT(shape.size() == strides.size(), "shape and strides differ in length");
  WEFT_CHECK(std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; }),
             fmt::format("as_strided: shape {}: sizes must not be negative", weft::str(shape)));
  const auto reached = checked_extent(shape, strides);
  const int64_t available = static_cast<int64_t>(storage->nbytes() / static_cast<size_t>(itemsize(dtype)));
  int64_t first = 0, last = 0;
  const bool fits = reached && !__builtin_add_overflow(offset, reached->first, &first) &&
                    !__builtin_add_overflow(offset, reached->second, &last);
  WEFT_CHECK(
      fits && (reached->first > reached->second || (first >= 0 && last < available)),
      fmt::format("as_strided: shape {}, strides {}, offset {} reaches elements {} to {} of a storage of {}",
                  weft::str(shape), weft::str(strides), offset, fits ? std::to_string(first) : "?",
                  fits ? std::to_string(last) : "?", available));
  impl_ = std::make_shared<TensorImpl>();
  impl_->device = storage->device();
  impl_->storage = std::move(storage);
  impl_->dtype = dtype;
  impl_->shape = std::move(shape);
  impl_->strides = std::move(strides);
  impl_->offset = offset;
}

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = Storage::allocate(bytes_of(shape, dtype), device);
  impl->dtype = dtype;
  impl->device = device;
  impl->shape = shape;
  impl->strides = contiguous_strides(shape);
  if (profiling::is_on(profiling::kMemory) && impl->storage->data() != nullptr) [[unlikely]]
    profiling::note_memory(profiling::MemoryAction::IsTensor, impl->storage->data(), impl->storage->nbytes(),
                           device, profiling::intern(std::string(short_name(dtype)) + weft::str(shape)));
  return Tensor(std::move(impl));
}

namespace {

// Elements of one device, converted: what copy_strided is on the CPU.
void copy_elements(Device device, const StridedPointer& to, const StridedPointer& from, const Shape& shape) {
  profiling::Span span("copy");
  if (span.is_recorded())
    span.work = {.bytes = static_cast<double>(numel(shape) * (itemsize(to.dtype) + itemsize(from.dtype))),
                 .is_known = true};
  if (device.type == DeviceType::CPU)
    copy_strided(to, from, shape);
  else
    backend_of(device).copy_elements(to, from, shape, device.index);
}

// The element at an address of the tensor's device, copied to `room` where the process cannot read it there.
const void* element_on_host(const Tensor& tensor, const void* element, void* room) {
  if (is_on_host(tensor.device())) return element;
  backend_of(tensor.device())
      .copy_to_host(room, element, static_cast<size_t>(itemsize(tensor.dtype())), tensor.device().index);
  return room;
}

using ElementRoom = std::complex<double>;  // no element is larger

}  // namespace

Tensor Tensor::full(const Shape& shape, Scalar value, DType dtype, Device device) {
  Tensor result = empty(shape, dtype, device);
  if (!has_memory(device)) return result;
  const bool is_zero = value.kind() == WeakKind::Bool  ? !value.to_bool()
                       : value.kind() == WeakKind::Int ? value.to_int() == 0
                                                       : false;
  if (is_zero && is_on_host(device) && !is_stored_only(dtype)) {  // no bit of it is set
    if (result.numel() > 0)
      std::memset(result.data(), 0, static_cast<size_t>(result.numel() * itemsize(dtype)));
    return result;
  }
  const Strides zero(shape.size(), 0);
  const auto fill = [&](DType from, auto element) {
    if (is_on_host(device))
      return copy_strided({result.data(), dtype, result.strides()}, {&element, from, zero}, shape);
    const Tensor there = empty({}, from, device);
    backend_of(device).copy_from_host(there.data(), &element, sizeof(element), device.index);
    copy_elements(device, {result.data(), dtype, result.strides()}, {there.data(), from, zero}, shape);
  };
  switch (value.kind()) {
    case WeakKind::Bool: fill(DType::Bool, value.to_bool()); break;
    case WeakKind::Int: fill(DType::I64, value.to_int()); break;
    case WeakKind::Float: fill(DType::F64, value.to_double()); break;
    case WeakKind::Complex: fill(DType::C128, value.to_complex()); break;
  }
  return result;
}

Tensor Tensor::scalar(Scalar value, DType dtype) { return full({}, value, dtype); }

void Tensor::specialize_shape() const { impl_->trace->specialize_shape(); }

int64_t Tensor::size(int64_t d) const {
  const int64_t n = dim();
  WEFT_CHECK_INDEX(d >= -n && d < n,
                   fmt::format("size: dimension {} is out of range for a tensor of {} dimensions", d, n));
  return shape()[static_cast<size_t>(d < 0 ? d + n : d)];
}

bool Tensor::is_contiguous() const {
  const Shape& shape = impl_->shape;
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && impl_->strides[d] != expected)
      return std::find(shape.begin(), shape.end(), 0) !=
             shape.end();  // without elements, any strides will do
    expected *= shape[d];
  }
  return true;
}

void* Tensor::data() const {
  check_not_traced(*this, "data");
  char* base = static_cast<char*>(impl_->storage->data());
  return base ? base + impl_->offset * itemsize(impl_->dtype) : nullptr;
}

namespace {

template <class T>
T read_as(DType dtype, const void* element) {
  T result;
  convert_function(dtype_of<T>::value, dtype)(&result, 1, element, 1, 1);
  return result;
}

}  // namespace

Scalar Tensor::item() const {
  check_not_traced(*this, "item");
  WEFT_CHECK(numel() == 1, fmt::format("item: expected a tensor of one element, got {}", describe(*this)));
  WEFT_CHECK(data(), "item: a meta tensor has no elements");
  if (is_quantized(dtype())) return dequantize(*this).item();
  ElementRoom room;
  const void* element = element_on_host(*this, data(), &room);
  switch (info(dtype()).kind) {
    case DTypeKind::Bool: return read_as<bool>(dtype(), element);
    case DTypeKind::Unsigned:
    case DTypeKind::Signed: return read_as<int64_t>(dtype(), element);
    case DTypeKind::Float: return read_as<double>(dtype(), element);
    case DTypeKind::Complex: break;
  }
  return read_as<std::complex<double>>(dtype(), element);
}

double Tensor::at(int64_t flat) const {
  check_not_traced(*this, "at");
  WEFT_CHECK_INDEX(flat >= 0 && flat < numel(),
                   fmt::format("at: position {} is out of range for {}", flat, describe(*this)));
  int64_t position = 0;
  for (size_t d = impl_->shape.size(); d-- > 0;) {
    position += flat % impl_->shape[d] * impl_->strides[d];
    flat /= impl_->shape[d];
  }
  ElementRoom room;
  return read_as<double>(dtype(),
                         element_on_host(*this, data_as<char>() + position * itemsize(dtype()), &room));
}

Tensor Tensor::as_strided(Shape shape, Strides strides, int64_t offset) const {
  check_not_traced(*this, "as_strided");
  WEFT_CHECK(shape.size() == strides.size(),
             fmt::format("as_strided: shape {} and strides {} differ in length", weft::str(shape),
                         weft::str(strides)));
  if (shape != impl_->shape) check_keeps_dimensions("as_strided", *this);
  Tensor view(impl_->storage, impl_->dtype, std::move(shape), std::move(strides), offset);
  view.impl_->quantizer = impl_->quantizer;
  return view;
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  if (is_traced()) return impl_->trace->clone(*this);
  Tensor result = empty(shape(), dtype(), device());
  if (data())
    copy_elements(device(), {result.data(), dtype(), result.strides()}, {data(), dtype(), strides()},
                  shape());
  result.impl_->quantizer = impl_->quantizer;
  return result;
}

Tensor Tensor::to(DType to) const {
  if (to == dtype()) return *this;
  if (is_traced()) return impl_->trace->cast(*this, to);
  Tensor result = empty(shape(), to, device());
  if (data())
    copy_elements(device(), {result.data(), to, result.strides()}, {data(), dtype(), strides()}, shape());
  return result;
}

Tensor Tensor::to(Device to) const {
  if (to == device()) return *this;
  if (is_traced()) return impl_->trace->move(*this, to);
  const Backend& there = available_backend(to);
  if (there.memory == MemoryKind::None) return empty(shape(), dtype(), to);
  if (!has_memory(device())) {
    throw_error(ErrorKind::NotImplemented,
                fmt::format("to: {} has no elements to move to {}", describe(*this), to.str()));
  }
  const Tensor source = contiguous(), result = empty(shape(), dtype(), to);
  const size_t nbytes = static_cast<size_t>(numel() * itemsize(dtype()));
  if (is_on_host(device())) {
    there.copy_from_host(result.data(), source.data(), nbytes, to.index);
  } else if (is_on_host(to)) {
    backend_of(device()).copy_to_host(result.data(), source.data(), nbytes, device().index);
  } else {
    const Tensor between = source.to(Device());
    there.copy_from_host(result.data(), between.data(), nbytes, to.index);
  }
  return result;
}

void Tensor::copy_from(const Tensor& source) const {
  if (is_traced()) return impl_->trace->assign(*this, source);
  check_not_traced(source, "copy_from");
  if (is_quantized(dtype()) && !is_quantized(source.dtype()))
    return copy_from(quantize(source.to(DType::F32), dtype(), impl_->quantizer));
  const auto fail = [&](const char* rule) {
    throw_error(ErrorKind::Value, fmt::format("copy_from: {}\n  target: {}   source: {}", rule,
                                              describe(*this), describe(source)));
  };
  if (impl_->storage->read_only()) fail("the target is read-only");
  if (source.device() != device() && has_memory(device()) && has_memory(source.device()))
    return copy_from(source.to(device()));
  const WriteNote note(*impl_->storage);
  if (is_quantized(dtype()) && dtype() == source.dtype()) impl_->quantizer = source.impl_->quantizer;
  constexpr int64_t kSmall = 1024;  // elements: less than the general case costs
  const bool is_plain = is_on_host(device()) && dtype() == source.dtype() &&
                        impl_->shape == source.impl_->shape && numel() <= kSmall && is_contiguous() &&
                        source.is_contiguous() && data() && source.data();
  if (is_plain) {
    std::memmove(data(), source.data(), static_cast<size_t>(numel() * itemsize(dtype())));
    return;
  }
  const int64_t skipped = dim() - source.dim();
  // As NumPy's assignment: leading dimensions of size 1 of the source are dropped.
  Strides source_strides(static_cast<size_t>(dim()), 0);
  for (int64_t d = 0; d < source.dim(); ++d) {
    const int64_t size = source.shape()[static_cast<size_t>(d)], target = d + skipped;
    if (target < 0 ? size != 1 : size != 1 && size != shape()[static_cast<size_t>(target)]) {
      fail("the source's shape must broadcast to the target's");
    }
    if (target >= 0 && size != 1)
      source_strides[static_cast<size_t>(target)] = source.strides()[static_cast<size_t>(d)];
  }
  if (!data() || !source.data()) {
    if (data() && numel() > 0) fail("a meta tensor has no elements to copy");
    return;
  }
  const bool same_elements =
      dtype() == source.dtype() && data() == source.data() && strides() == source_strides;
  if (same_elements) return;
  if (may_overlap(*this, source)) {
    const Tensor copy = source.clone();
    Strides copy_strides(static_cast<size_t>(dim()), 0);
    for (int64_t d = std::max<int64_t>(0, -skipped); d < source.dim(); ++d) {
      const size_t from = static_cast<size_t>(d);
      if (copy.shape()[from] != 1) copy_strides[static_cast<size_t>(d + skipped)] = copy.strides()[from];
    }
    return copy_elements(device(), {data(), dtype(), strides()}, {copy.data(), copy.dtype(), copy_strides},
                         shape());
  }
  copy_elements(device(), {data(), dtype(), strides()}, {source.data(), source.dtype(), source_strides},
                shape());
}

std::optional<size_t> expanded_dimension(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (std::find(impl.shape.begin(), impl.shape.end(), 0) != impl.shape.end()) return std::nullopt;
  for (size_t d = 0; d < impl.shape.size(); ++d)
    if (impl.shape[d] > 1 && impl.strides[d] == 0) return d;
  return std::nullopt;
}

void check_distinct_elements(const Tensor& target) {
  if (const std::optional<size_t> dim = expanded_dimension(target))
    throw_error(
        ErrorKind::Runtime,
        fmt::format("unsupported operation: several elements of the tensor that is written to, {}, are one "
                    "in memory along dimension {}; clone() it first",
                    describe(target), *dim));
}

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "None";
  return fmt::format("{}{} {}", short_name(tensor.dtype()), str(tensor.impl()->shape), tensor.device().str());
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (a.is_traced() || b.is_traced() || !a.data() || !b.data()) return false;
  const auto range = [](const Tensor& tensor) {
    const auto [low, high] = extent(tensor.shape(), tensor.strides());
    const char* data = tensor.data_as<char>();
    const int64_t size = itemsize(tensor.dtype());
    return std::pair(data + low * size, data + (high + 1) * size);
  };
  const auto [a_begin, a_end] = range(a);
  const auto [b_begin, b_end] = range(b);
  return a_begin < a_end && b_begin < b_end && a_begin < b_end && b_begin < a_end;
}

}  // namespace weft
