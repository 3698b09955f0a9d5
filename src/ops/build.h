// Calls of the primitive operators that composites are written with. Sizes may be symbolic.
#pragma once

#include <optional>
#include <vector>

#include "ops/registry.h"
#include "ops/view.h"

namespace weft::ops::build {

Tensor permute(const Tensor& x, const std::vector<int64_t>& dims);
Tensor reshape(const Tensor& x, const SymShape& shape);
Tensor expand(const Tensor& x, const SymShape& shape);
Tensor slice(const Tensor& x, int64_t dim, const SliceRange& range);
// x[..., start:stop:step, ...], with NumPy's treatment of negative and absent ends.
Tensor slice(const Tensor& x, int64_t dim, std::optional<Sym> start, std::optional<Sym> stop,
             int64_t step = 1);
Tensor select(const Tensor& x, int64_t dim, Sym index);
Tensor unsqueeze(const Tensor& x, int64_t dim);  // dim in [0, x.dim()]
Tensor squeeze(const Tensor& x, int64_t dim);    // the dimension must have size 1
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
Tensor cast(const Tensor& x, DType dtype);  // x itself when it has that dtype

Tensor full(const SymShape& shape, Scalar value, DType dtype, Device device = {});
Tensor iota(Sym size, Scalar start, Scalar step, DType dtype, Device device = {});  // start + i * step
Tensor join(const std::vector<Tensor>& tensors, int64_t dim);

// Promoted pointwise calls.
Tensor add(const Operand& a, const Operand& b, Promotion rules = Promotion::Torch);
Tensor sub(const Operand& a, const Operand& b, Promotion rules = Promotion::Torch);
Tensor mul(const Operand& a, const Operand& b, Promotion rules = Promotion::Torch);
Tensor sum(const Tensor& x, const std::vector<int64_t>& dims, bool keepdim = false);

// The tensors cast to their common dtype.
std::vector<Tensor> promote(const std::vector<Tensor>& tensors, Promotion rules);

}  // namespace weft::ops::build
