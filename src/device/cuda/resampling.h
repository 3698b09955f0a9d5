// Images of another size, at the positions of a grid, and regions of them (text/resampling.inc).
#pragma once

#include <span>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// Empty where the host has to do it.
std::vector<Tensor> run_upsample(const ops::OpDef& op, std::span<const Tensor> operands,
                                 const ops::Attrs& attrs);
std::vector<Tensor> run_grid_sample(const ops::OpDef& op, std::span<const Tensor> operands,
                                    const ops::Attrs& attrs);
std::vector<Tensor> run_regions(const ops::OpDef& op, std::span<const Tensor> operands,
                                const ops::Attrs& attrs);

}  // namespace weft::cuda
