#include "core/index_arrays.h"

#include <fmt/format.h>

#include <cstring>

#include "core/copy.h"
#include "core/memory_watch.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft {

namespace {

constexpr int64_t kGrain = 1 << 14;

Shape broadcast(const std::vector<Tensor>& indices) {
  Shape shape;
  for (const Tensor& index : indices) {
    if (!index.defined()) continue;
    if (index.dim() > static_cast<int64_t>(shape.size())) {
      shape.insert(shape.begin(), static_cast<size_t>(index.dim()) - shape.size(), 1);
    }
    for (int64_t d = 1; d <= index.dim(); ++d) {
      int64_t& size = shape[shape.size() - static_cast<size_t>(d)];
      const int64_t other = index.size(-d);
      WEFT_CHECK_INDEX(size == other || size == 1 || other == 1,
                       fmt::format("index: shapes of the index arrays do not broadcast: {} against {}",
                                   str(shape), str(index.shape())));
      if (size == 1) size = other;
    }
  }
  return shape;
}

// The index counted from the beginning.
inline int64_t checked(int64_t value, int64_t dim, int64_t size) {
  const int64_t result = value < 0 ? value + size : value;
  if (static_cast<uint64_t>(result) >= static_cast<uint64_t>(size))
    throw_error(ErrorKind::Index,
                fmt::format("index: {} is out of range for dimension {} of size {}", value, dim, size));
  return result;
}

// Elements of kBytes of a vector, as a table is looked up.
template <size_t kBytes>
Tensor look_up(const Tensor& x, const Tensor& index) {
  const Tensor result = Tensor::empty(index.shape(), x.dtype());
  const int64_t size = x.size(0), stride = x.strides()[0] * static_cast<int64_t>(kBytes);
  const int64_t* values = index.data_as<int64_t>();
  const char* from = x.data_as<char>();
  char* to = result.data_as<char>();
  parallel_for(0, index.numel(), kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(to + i * static_cast<int64_t>(kBytes), from + checked(values[i], 0, size) * stride, kBytes);
  });
  return result;
}

Tensor look_up(const Tensor& x, const Tensor& index) {
  switch (itemsize(x.dtype())) {
    case 1: return look_up<1>(x, index);
    case 2: return look_up<2>(x, index);
    case 4: return look_up<4>(x, index);
    case 8: return look_up<8>(x, index);
    default: return look_up<16>(x, index);
  }
}

bool is_look_up(const Tensor& x, const std::vector<Tensor>& indices) {
  return x.dim() == 1 && indices.size() == 1 && indices[0].defined() && indices[0].dtype() == DType::I64 &&
         indices[0].is_contiguous() && itemsize(x.dtype()) <= 16;
}

}  // namespace

IndexedElements::IndexedElements(const Tensor& x, const std::vector<Tensor>& indices) : x_(x) {
  WEFT_CHECK_INDEX(static_cast<int64_t>(indices.size()) <= x.dim(),
                   fmt::format("index: {} indices for {}", indices.size(), describe(x)));
  index_shape_ = broadcast(indices);
  offsets_.assign(static_cast<size_t>(numel(index_shape_)), 0);
  int64_t first = -1, last = -1, count = 0;
  for (int64_t d = 0; d < x.dim(); ++d) {
    const size_t axis = static_cast<size_t>(d);
    if (axis >= indices.size() || !indices[axis].defined()) {
      rest_shape_.push_back(x.shape()[axis]);
      rest_strides_.push_back(x.strides()[axis]);
      continue;
    }
    if (first < 0) first = d;
    last = d;
    ++count;
    Tensor index = Tensor::empty(index_shape_, DType::I64);
    index.copy_from(indices[axis]);
    const int64_t size = x.shape()[axis], stride = x.strides()[axis];
    const int64_t* values = index.data_as<int64_t>();
    for (size_t i = 0; i < offsets_.size(); ++i) {
      offsets_[i] += checked(values[i], d, size) * stride;
    }
  }
  const bool neighbours = last - first + 1 == count;
  num_before_ = neighbours && first > 0 ? static_cast<size_t>(first) : 0;
}

Shape IndexedElements::shape() const {
  Shape shape = rest_shape_;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(num_before_), index_shape_.begin(),
               index_shape_.end());
  return shape;
}

// Strides of a dense result's whole dimensions, and the step from one index position to the next.
struct IndexedElements::DenseLayout {
  DenseLayout(const IndexedElements& elements, const Tensor& dense) {
    const size_t index_begin = elements.num_before_, index_end = index_begin + elements.index_shape_.size();
    for (size_t d = 0; d < dense.strides().size(); ++d) {
      if (d < index_begin || d >= index_end) rest_strides.push_back(dense.strides()[d]);
    }
    if (index_end > index_begin) step = dense.strides()[index_end - 1];
  }
  Strides rest_strides;
  int64_t step = 0;
};

Tensor IndexedElements::get() const {
  const Tensor result = Tensor::empty(shape(), x_.dtype());
  if (result.numel() == 0) return result;
  const DenseLayout layout(*this, result);
  const int64_t size = itemsize(x_.dtype()), each = std::max<int64_t>(1, numel(rest_shape_));
  char *from = x_.data_as<char>(), *to = result.data_as<char>();
  parallel_for(0, static_cast<int64_t>(offsets_.size()), std::max<int64_t>(1, kGrain / each),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   char* to_here = to + i * layout.step * size;
                   char* from_here = from + offsets_[static_cast<size_t>(i)] * size;
                   if (rest_shape_.empty())
                     std::memcpy(to_here, from_here, static_cast<size_t>(size));
                   else
                     copy_strided({to_here, x_.dtype(), layout.rest_strides},
                                  {from_here, x_.dtype(), rest_strides_}, rest_shape_);
                 }
               });
  return result;
}

void IndexedElements::set(const Tensor& dense) const {
  if (dense.numel() == 0) return;
  const DenseLayout layout(*this, dense);
  const WriteNote note(*x_.storage());
  const int64_t size = itemsize(x_.dtype());
  char *to = x_.data_as<char>(), *from = dense.data_as<char>();
  // Serial: an element named twice keeps the last value.
  for (size_t i = 0; i < offsets_.size(); ++i) {
    char* to_here = to + offsets_[i] * size;
    char* from_here = from + static_cast<int64_t>(i) * layout.step * size;
    if (rest_shape_.empty())
      std::memcpy(to_here, from_here, static_cast<size_t>(size));
    else
      copy_strided({to_here, x_.dtype(), rest_strides_}, {from_here, x_.dtype(), layout.rest_strides},
                   rest_shape_);
  }
}

Tensor index_get(const Tensor& x, const std::vector<Tensor>& indices) {
  return is_look_up(x, indices) ? look_up(x, indices[0]) : IndexedElements(x, indices).get();
}

void index_set(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values) {
  WEFT_CHECK(!x.storage()->read_only(),
             fmt::format("index assignment: the target {} is read-only", describe(x)));
  const IndexedElements elements(x, indices);
  const Tensor dense = Tensor::empty(elements.shape(), x.dtype());
  dense.copy_from(values);
  elements.set(dense);
}

std::vector<Tensor> true_positions(const Tensor& mask) {
  WEFT_CHECK_TYPE(mask.dtype() == DType::Bool, fmt::format("nonzero: expected bool, got {}", describe(mask)));
  const Tensor dense = mask.contiguous();
  const bool* values = dense.data_as<bool>();
  const int64_t total = mask.numel();
  int64_t count = 0;
  for (int64_t i = 0; i < total; ++i) count += values[i];
  std::vector<Tensor> positions;
  for (int64_t d = 0; d < mask.dim(); ++d) positions.push_back(Tensor::empty({count}, DType::I64));
  int64_t n = 0;
  for (int64_t i = 0; i < total; ++i) {
    if (!values[i]) continue;
    int64_t flat = i;
    for (size_t d = positions.size(); d-- > 0;) {
      const int64_t size = mask.shape()[d];
      positions[d].data_as<int64_t>()[n] = flat % size;
      flat /= size;
    }
    ++n;
  }
  return positions;
}

void throw_index_error(int64_t index, int64_t size, int64_t axis) {
  throw_error(ErrorKind::Index,
              fmt::format("index {} is out of bounds for axis {} with size {}", index, axis, size));
}

}  // namespace weft
