// Elements that are moved: copies of any strides, indexing, joins, padding (text/moving.inc).
#pragma once

#include <span>
#include <vector>

#include "core/copy.h"
#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// Elements of one dtype, wherever they lie.
void move_elements(const StridedPointer& to, const StridedPointer& from, const Shape& shape, int device);

// Empty where the host has to do it.
std::vector<Tensor> run_gather_nd(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs);
std::vector<Tensor> run_scatter_nd(const ops::OpDef& op, std::span<const Tensor> operands,
                                   const ops::Attrs& attrs);
std::vector<Tensor> run_gather(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs);
std::vector<Tensor> run_embedding(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs);
std::vector<Tensor> run_embedding_bag(const ops::OpDef& op, std::span<const Tensor> operands,
                                      const ops::Attrs& attrs);
std::vector<Tensor> run_join(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs);
std::vector<Tensor> run_pad(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs);
// `base` with values where the indices say, in place. False where the host has to do it.
bool put_indexed(const Tensor& base, const std::vector<Tensor>& indices, const Tensor& values);

}  // namespace weft::cuda
