// Reading a strided tensor as a sequence of elements in C order, block by block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/tensor.h"

namespace weft::ops {

inline constexpr int64_t kBlock = 512;  // elements per block; scratch buffers stay in the first-level cache
inline constexpr int64_t kMaxElementSize = 16;  // bytes, complex128

struct alignas(64) BlockBuffer {
  BlockBuffer() {}  // not filled
  std::byte bytes[kBlock * kMaxElementSize];
};

// contiguous `source` of dtype `from` -> contiguous `target` of dtype `to`.
void convert_block(DType to, void* target, DType from, const void* source, int64_t count);

// Elements of a broadcast, permuted or otherwise strided view, in C order of `shape`.
class ElementReader {
 public:
  // `strides` in elements, aligned with `shape`. Blocks come in dtype `as` (converted if need be).
  ElementReader(const Tensor& tensor, std::span<const int64_t> shape, std::span<const int64_t> strides,
                DType as);
  // `tensor` broadcast to `shape`.
  static ElementReader broadcast(const Tensor& tensor, std::span<const int64_t> shape, DType as);

  // `count` elements, as many as fit into a buffer, from flat position `start`: a pointer into the tensor
  // where they lie there contiguously in the right dtype, else into `scratch` (two buffers).
  const void* read(int64_t start, int64_t count, BlockBuffer scratch[2]) const;
  // The elements from `start` on, where they lie there together in the right dtype; else null.
  const std::byte* in_place(int64_t start, int64_t count) const;
  // Of the pieces of `length` elements from `start` on, at most `most`, those that lie there in the right
  // dtype, none overlapping another, each `stride` elements behind the one before; none where the first one
  // does not.
  struct Pieces {
    const std::byte* first = nullptr;
    int64_t count = 0, stride = 0;
  };
  Pieces pieces_in_place(int64_t start, int64_t length, int64_t most) const;
  // Rows of `length` of which each element's next one in memory is that of the next row.
  bool are_columns(int64_t length) const {
    return dtype_ == as_ && sizes_.size() == 2 && sizes_[1] == length && strides_[0] == element_size_;
  }
  // `count` of those, from `row` on, one after the other.
  void read_columns(int64_t row, int64_t count, std::byte* target) const;
  // Of those, where element `i` of `row` lies, and that of the next rows behind it.
  const std::byte* across(int64_t row, int64_t i) const {
    return base_ + row * element_size_ + i * strides_[1];
  }
  // The same element everywhere.
  bool is_constant() const { return sizes_.size() == 1 && (strides_[0] == 0 || sizes_[0] == 1); }
  // The first of them, where all lie contiguously in the right dtype; else null.
  const std::byte* contiguous() const {
    return dtype_ == as_ && sizes_.size() == 1 && strides_[0] == element_size_ ? base_ : nullptr;
  }

 private:
  const std::byte* gather(int64_t start, int64_t count, std::byte* target) const;

  const std::byte* base_;
  DType dtype_, as_;
  int64_t element_size_;
  std::vector<int64_t> sizes_, strides_;  // coalesced; strides in bytes
};

// Strides of `tensor` broadcast to `shape`: zero where a dimension is stretched.
std::vector<int64_t> broadcast_strides(const Tensor& tensor, std::span<const int64_t> shape);

}  // namespace weft::ops
