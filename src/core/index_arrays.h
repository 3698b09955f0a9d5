// Indexing with arrays of integers, as x[i, :, j] in NumPy and PyTorch.
#pragma once

#include <vector>

#include "weft/tensor.h"

namespace weft {

// indices[d] selects along dimension d (int64, broadcast against each other, negative ones count from the
// end) or is undefined for all of it; there may be fewer indices than dimensions. The dimensions of the
// broadcast indices stand where the indexed ones stood if these were neighbours, else first. IndexError out
// of range.
Tensor index_get(const Tensor& x, const std::vector<Tensor>& indices);
// x[indices] = values, broadcast and converted; where an element is named twice, the last value stays.
void index_set(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values);
// The elements that x[indices] names, for those who read and write them in turn.
class IndexedElements {
 public:
  // IndexError out of range.
  IndexedElements(const Tensor& x, const std::vector<Tensor>& indices);
  // Dense, a new tensor.
  Tensor get() const;
  // `dense`: of the shape and dtype that get() gives, contiguous, other memory. Makes no tensor, so it does
  // not fail for want of memory.
  void set(const Tensor& dense) const;
  Shape shape() const;

 private:
  Tensor x_;
  Shape index_shape_;             // of the broadcast indices
  std::vector<int64_t> offsets_;  // in elements, C order over index_shape
  Shape rest_shape_;              // dimensions without an index
  Strides rest_strides_;
  size_t num_before_ = 0;  // how many of them precede the index dimensions in the result

  struct DenseLayout;
};
// The positions where a bool tensor is true: one int64 tensor per dimension, in C order.
std::vector<Tensor> true_positions(const Tensor& mask);
// IndexError in NumPy's words, for an index outside [-size, size).
[[noreturn]] void throw_index_error(int64_t index, int64_t size, int64_t axis);

}  // namespace weft
