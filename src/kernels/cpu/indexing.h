// Reading and writing elements at positions given by integer arrays. Indices are int64; negative ones count
// from the end; IndexError in NumPy's words for those out of range.
#pragma once

#include <vector>

#include "weft/tensor.h"

namespace weft::kernels {

// Dimensions of an advanced index: where the index arrays' common shape goes in the result.
struct IndexPlan {
  std::vector<size_t> indexed, kept;  // dimensions of x
  size_t position = 0;                // of the broadcast dimensions among the result's
};
// `present[d]`: dimension d has an index array. Adjacent ones are replaced where they stand; others go in
// front.
IndexPlan plan_index(const std::vector<bool>& present);

enum class Combine { Add, Multiply, Minimum, Maximum };
// A copy of base with base[indices] combined with values, whose shape is that of index_get
// (core/index_arrays.h).
Tensor index_accumulate(const Tensor& base, const std::vector<Tensor>& indices, const Tensor& values,
                        Combine how = Combine::Add);

// result[i] = x[j], j = i but j[dim] = index[i].
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
// A copy of x with result[j] = source[i] (or +=), j = i but j[dim] = index[i], for every i of index's shape.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, bool accumulate);
// As scatter, but result[j] is combined with every source[i] for it.
Tensor scatter_combine(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Combine how);

}  // namespace weft::kernels
