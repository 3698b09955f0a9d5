#include "ops/elements.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/copy.h"
#include "weft/error.h"

namespace weft::ops {
namespace {

template <class Word>
void copy_strided(std::byte* target, const std::byte* source, int64_t stride, int64_t count) {
  if constexpr (sizeof(Word) <= 8) {
    if (stride == 2 * static_cast<int64_t>(sizeof(Word))) {  // shuffles of vectors
      Word* __restrict const to = reinterpret_cast<Word*>(target);
      const Word* __restrict const from = reinterpret_cast<const Word*>(source);
      for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, source + i * stride, sizeof(Word));
    std::memcpy(target + i * static_cast<int64_t>(sizeof(Word)), &word, sizeof(Word));
  }
}

constexpr size_t kMaxDims = 64;  // as NumPy's

struct Word128 {
  uint64_t low, high;
};

void copy_run(std::byte* target, const std::byte* source, int64_t stride, int64_t count,
              int64_t element_size) {
  if (stride == element_size) {
    std::memcpy(target, source, static_cast<size_t>(count * element_size));
    return;
  }
  switch (element_size) {
    case 1: return copy_strided<uint8_t>(target, source, stride, count);
    case 2: return copy_strided<uint16_t>(target, source, stride, count);
    case 4: return copy_strided<uint32_t>(target, source, stride, count);
    case 8: return copy_strided<uint64_t>(target, source, stride, count);
    default: return copy_strided<Word128>(target, source, stride, count);
  }
}

}  // namespace

void convert_block(DType to, void* target, DType from, const void* source, int64_t count) {
  convert_function(to, from)(target, 1, source, 1, count);
}

std::vector<int64_t> broadcast_strides(const Tensor& tensor, std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 0);
  const size_t lead = shape.size() - tensor.shape().size();
  for (size_t d = lead; d < shape.size(); ++d) {
    if (tensor.shape()[d - lead] != 1) strides[d] = tensor.strides()[d - lead];
  }
  return strides;
}

ElementReader::ElementReader(const Tensor& tensor, std::span<const int64_t> shape,
                             std::span<const int64_t> strides, DType as)
    : base_(static_cast<const std::byte*>(tensor.data())),
      dtype_(tensor.dtype()),
      as_(as),
      element_size_(itemsize(tensor.dtype())) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const int64_t stride = strides[d] * element_size_;
    if (!sizes_.empty() && strides_.back() == stride * shape[d]) {
      sizes_.back() *= shape[d];
      strides_.back() = stride;
    } else {
      sizes_.push_back(shape[d]);
      strides_.push_back(stride);
    }
  }
  WEFT_ASSERT(sizes_.size() <= kMaxDims, "more dimensions than supported");
  if (sizes_.empty()) {
    sizes_.push_back(1);
    strides_.push_back(element_size_);
  }
}

ElementReader ElementReader::broadcast(const Tensor& tensor, std::span<const int64_t> shape, DType as) {
  return ElementReader(tensor, shape, broadcast_strides(tensor, shape), as);
}

const std::byte* ElementReader::in_place(int64_t start, int64_t count) const {
  const size_t last = sizes_.size() - 1;
  if (dtype_ != as_ || strides_[last] != element_size_ || start % sizes_[last] + count > sizes_[last])
    return nullptr;
  const std::byte* source = base_;
  for (size_t d = sizes_.size(); d-- > 0;) {
    source += start % sizes_[d] * strides_[d];
    start /= sizes_[d];
  }
  return source;
}

ElementReader::Pieces ElementReader::pieces_in_place(int64_t start, int64_t length, int64_t most) const {
  const size_t last = sizes_.size() - 1;
  if (dtype_ != as_ || strides_[last] != element_size_ || most == 0) return {};
  const std::byte* source = base_;
  int64_t index = 0, outer = 0;  // of the last dimension and the one before
  for (size_t d = sizes_.size(); d-- > 0;) {
    const int64_t at = start % sizes_[d];
    if (d == last) index = at;
    if (d + 1 == last) outer = at;
    source += at * strides_[d];
    start /= sizes_[d];
  }
  const int64_t together = (sizes_[last] - index) / length;
  if (together == 0) return {};
  // One piece in each run: those of the next dimension.
  if (sizes_[last] == length && last > 0 && strides_[last - 1] >= length * element_size_)
    return {source, std::min(most, sizes_[last - 1] - outer), strides_[last - 1] / element_size_};
  return {source, std::min(most, together), length};
}

const std::byte* ElementReader::gather(int64_t start, int64_t count, std::byte* target) const {
  const size_t last = sizes_.size() - 1;
  std::array<int64_t, kMaxDims> index;
  const std::byte* source = base_;
  for (size_t d = sizes_.size(); d-- > 0;) {
    index[d] = start % sizes_[d];
    start /= sizes_[d];
    source += index[d] * strides_[d];
  }
  if (strides_[last] == element_size_ && index[last] + count <= sizes_[last]) return source;
  for (int64_t done = 0; done < count;) {
    const int64_t run = std::min(count - done, sizes_[last] - index[last]);
    copy_run(target + done * element_size_, source, strides_[last], run, element_size_);
    done += run;
    index[last] += run;
    source += run * strides_[last];
    for (size_t d = last; d > 0 && index[d] == sizes_[d]; --d) {
      source += strides_[d - 1] - sizes_[d] * strides_[d];
      index[d] = 0;
      ++index[d - 1];
    }
  }
  return target;
}

void ElementReader::read_columns(int64_t row, int64_t count, std::byte* target) const {
  const int64_t length = sizes_[1];
  const Strides to = {length, 1}, from = {1, strides_[1] / element_size_};
  const std::byte* const first = base_ + row * element_size_;
  weft::copy_strided({target, dtype_, to}, {const_cast<std::byte*>(first), dtype_, from}, {count, length});
}

const void* ElementReader::read(int64_t start, int64_t count, BlockBuffer scratch[2]) const {
  const std::byte* elements = gather(start, count, scratch[0].bytes);
  if (dtype_ == as_) return elements;
  convert_block(as_, scratch[1].bytes, dtype_, elements, count);
  return scratch[1].bytes;
}

}  // namespace weft::ops
