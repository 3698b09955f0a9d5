// Operators on GPUs: what is a loop is compiled, the rest runs on the host on copies, with a line in the log.
#pragma once

#include <span>
#include <vector>

#include "core/copy.h"
#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

std::vector<Tensor> run_operator(const ops::OpDef& op, std::span<const Tensor> operands,
                                 const ops::Attrs& attrs, int index);
void copy_elements(const StridedPointer& to, const StridedPointer& from, const Shape& shape, int device);

}  // namespace weft::cuda
