#include "core/pinned.h"

#include <fmt/format.h>

#include <cstring>

#include "core/backend.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr Device kAccelerator{DeviceType::CUDA, 0};

size_t bytes_of(const Tensor& tensor) {
  return static_cast<size_t>(tensor.numel() * itemsize(tensor.dtype()));
}

Tensor empty_pinned(const Shape& shape, DType dtype, const Backend& backend) {
  std::shared_ptr<Storage> storage =
      backend.allocate_pinned(static_cast<size_t>(numel(shape) * itemsize(dtype)));
  return storage == nullptr ? Tensor::empty(shape, dtype)
                            : Tensor(std::move(storage), dtype, shape, contiguous_strides(shape));
}

}  // namespace

bool is_pinned(const Tensor& tensor) {
  return tensor.device().type == DeviceType::CPU && backend_of(kAccelerator).is_pinned(tensor.data());
}

Tensor pinned(const Tensor& tensor) {
  WEFT_CHECK(tensor.device().type == DeviceType::CPU,
             fmt::format("pin_memory: expected a tensor of the CPU, got {}", tensor.device().str()));
  const Backend& backend = backend_of(kAccelerator);
  if (const std::string why = backend.why_unavailable(0); !why.empty())
    throw_error(
        ErrorKind::Runtime,
        fmt::format("pin_memory: memory is pinned for an accelerator, and weft has none here: {}", why));
  if (is_pinned(tensor)) return tensor;
  const Tensor source = tensor.contiguous(), result = empty_pinned(tensor.shape(), tensor.dtype(), backend);
  if (tensor.numel() > 0) std::memcpy(result.data(), source.data(), bytes_of(tensor));
  return result;
}

Tensor start_move(const Tensor& tensor, Device to) {
  if (tensor.is_traced()) return tensor.to(to);
  const Device from = tensor.device();
  if (to.type == DeviceType::CUDA && is_pinned(tensor)) {
    const Backend& there = available_backend(to);
    const Tensor source = tensor.contiguous();  // pinned only where it is the tensor itself
    if (!is_pinned(source)) return tensor.to(to);
    const Tensor result = Tensor::empty(tensor.shape(), tensor.dtype(), to);
    if (tensor.numel() > 0)
      there.start_copy_from_host(result.data(), source.data(), bytes_of(tensor), to.index);
    return result;
  }
  if (from.type == DeviceType::CUDA && to.type == DeviceType::CPU) {
    const Backend& there = backend_of(from);
    const Tensor source = tensor.contiguous(), result = empty_pinned(tensor.shape(), tensor.dtype(), there);
    if (tensor.numel() > 0)
      there.start_copy_to_host(result.data(), source.data(), bytes_of(tensor), from.index);
    return result;
  }
  return tensor.to(to);
}

}  // namespace weft
