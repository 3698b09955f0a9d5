// What a call of an operator has to do at least: for the profiler.
#pragma once

#include <span>

#include "core/profiling.h"
#include "ops/registry.h"

namespace weft::ops {

// Bytes of operands and results, each once, and operations: two per multiply-add of products, convolutions
// and attention, else one per element read or written. Of views: nothing.
profiling::Work work_of(const OpDef& op, std::span<const Tensor> operands, std::span<const Tensor> results,
                        const Attrs& attrs);
// Shapes and dtypes as events have them, interned.
const char* describe_inputs(std::span<const Tensor> operands);

}  // namespace weft::ops
