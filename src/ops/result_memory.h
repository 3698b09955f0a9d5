// Results that no machine has memory for, known by their types before anything is computed.
#pragma once

#include <span>

#include "ops/registry.h"

namespace weft::ops {

// False where one of known sizes does not fit into memory; views need none.
bool results_fit_memory(const OpDef& op, std::span<const TensorType> results);
// MemoryError that names the operator and the bytes, or ValueError for negative sizes.
void check_results_fit_memory(const OpDef& op, std::span<const TensorType> results);

}  // namespace weft::ops
