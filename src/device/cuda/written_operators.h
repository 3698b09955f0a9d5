// Operators that have kernels written by hand for them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

bool has_written(const ops::OpDef& op);
// Nothing where the call is none that the kernels compute.
std::optional<std::vector<Tensor>> run_written(const ops::OpDef& op, std::span<const Tensor> operands,
                                               const ops::Attrs& attrs);

}  // namespace weft::cuda
