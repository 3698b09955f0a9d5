// The strided array: a view (shape, strides, offset) of reference-counted storage.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/device.h"
#include "weft/dtype.h"
#include "weft/scalar.h"

namespace weft {

using Shape = std::vector<int64_t>;
using Strides = std::vector<int64_t>;  // in elements, may be zero or negative

int64_t numel(const Shape& shape);
Strides contiguous_strides(const Shape& shape);
std::string str(const Shape& shape);  // "[2, 3]"

// A block of memory with an owner. Never resized.
class Storage {
 public:
  // Uninitialized memory from the recycling allocator, 64-byte aligned; MemoryError with the size where there
  // is none.
  static std::shared_ptr<Storage> allocate(size_t nbytes, Device device = {});
  // Memory owned by somebody else; `release` runs when the last reference goes.
  static std::shared_ptr<Storage> wrap(void* data, size_t nbytes, std::function<void()> release,
                                       bool read_only = false, Device device = {});
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  size_t nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  bool read_only() const { return read_only_; }

 private:
  Storage() = default;
  void* data_ = nullptr;
  size_t nbytes_ = 0;
  Device device_;
  bool read_only_ = false;
  size_t capacity_ = 0;  // of a block from the allocator; 0 otherwise
  std::function<void()> release_;
};

// What the integers q of a tensor of a quantized dtype stand for: scale * (q - zero_point).
struct Quantizer {
  std::vector<double> scales;       // one, or one for each index of dimension `axis`
  std::vector<double> zero_points;  // as many; whole numbers but where is_float
  int64_t axis = -1;                // -1: one scale for all
  bool is_float = false;            // zero points are any numbers (rows of embeddings)

  bool is_per_channel() const { return axis >= 0; }
};

// Set on tensors that stand for a value of a graph being traced (weft::compile of a C++ function).
class TraceHandle;

struct TensorImpl {
  std::shared_ptr<Storage> storage;
  DType dtype = DType::F32;
  Device device;
  Shape shape;
  Strides strides;
  int64_t offset = 0;  // in elements from the start of the storage
  std::shared_ptr<TraceHandle> trace;
  std::shared_ptr<const Quantizer> quantizer;  // of a quantized dtype
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(std::shared_ptr<Storage> storage, DType dtype, Shape shape, Strides strides, int64_t offset = 0);

  // Uninitialized, C-contiguous.
  static Tensor empty(const Shape& shape, DType dtype, Device device = {});
  static Tensor full(const Shape& shape, Scalar value, DType dtype, Device device = {});
  static Tensor scalar(Scalar value, DType dtype);  // 0-d
  // Copies `data`, C order.
  template <class T>
  static Tensor of(const std::vector<T>& data, Shape shape = {-1});

  bool defined() const { return impl_ != nullptr; }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->device; }
  // Of a traced tensor: the sizes seen at capture, which become guards of the graph (ops::sym_shape does
  // not).
  const Shape& shape() const {
    if (impl_->trace) specialize_shape();
    return impl_->shape;
  }
  const Strides& strides() const { return impl_->strides; }
  int64_t dim() const { return static_cast<int64_t>(impl_->shape.size()); }
  // Negative `d` counts from the end; IndexError when out of range.
  int64_t size(int64_t d) const;
  int64_t numel() const { return weft::numel(shape()); }
  int64_t offset() const { return impl_->offset; }
  const std::shared_ptr<Storage>& storage() const { return impl_->storage; }
  const std::shared_ptr<TensorImpl>& impl() const { return impl_; }
  const std::shared_ptr<const Quantizer>& quantizer() const { return impl_->quantizer; }
  bool is_contiguous() const;
  bool is_traced() const { return impl_ && impl_->trace != nullptr; }

  // Address of the element at index 0…0, in the device's memory; null for a meta tensor, an error for a
  // traced one.
  void* data() const;
  template <class T>
  T* data_as() const {
    return static_cast<T*>(data());
  }

  // The value of a tensor of one element; ValueError otherwise.
  Scalar item() const;
  // Element at a flat C-order position, converted.
  double at(int64_t flat) const;

  // A view of the same storage; ValueError when it would reach outside the storage.
  Tensor as_strided(Shape shape, Strides strides, int64_t offset) const;
  Tensor contiguous() const;  // itself when already C-contiguous
  Tensor clone() const;       // always a copy, C-contiguous
  Tensor to(DType dtype) const;
  Tensor to(Device device) const;  // itself when it is there; NotImplementedError for a meta tensor
  // Elementwise copy from `source`, broadcast and converted; shapes are checked, and a read-only tensor is
  // refused. Handles overlap.
  void copy_from(const Tensor& source) const;

  // As PyTorch prints it: "tensor([1., 2.])".
  std::string str() const;

 private:
  void specialize_shape() const;
  std::shared_ptr<TensorImpl> impl_;
};

template <class T>
Tensor Tensor::of(const std::vector<T>& data, Shape shape) {
  if (shape == Shape{-1}) shape = {static_cast<int64_t>(data.size())};
  Tensor result = empty(shape, dtype_of<T>::value);
  std::copy(data.begin(), data.end(), result.data_as<T>());
  return result;
}

// Shape, dtype and device as error messages show them: "f32[8, 64] cpu".
std::string describe(const Tensor& tensor);
// True when the two may share memory (extent test).
bool may_overlap(const Tensor& a, const Tensor& b);

}  // namespace weft
