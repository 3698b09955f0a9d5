// Windows of images: pooling (text/windows.inc), the columns of windows and back.
#pragma once

#include <span>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// Empty where the host has to do it.
std::vector<Tensor> run_pool(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs);
std::vector<Tensor> run_unpool(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs);
std::vector<Tensor> run_blocks(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs);

}  // namespace weft::cuda
