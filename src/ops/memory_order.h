// In which order the dimensions of an operator's result lie in memory, where that is not C order: PyTorch's
// attention gives results that lie as the query does. A call's attribute, and an annotation of nodes: "0213",
// the dimensions from the one that lies widest to the one that lies densest.
#pragma once

#include <span>
#include <string_view>

#include "ops/registry.h"

namespace weft::ops {

inline constexpr std::string_view kMemoryOrder = "memory_order";

// Sets it where OpDef::result_order, by the operands' strides, asks for another one than C order and it is
// not there.
void choose_memory_order(const OpDef& op, std::span<const Tensor> operands, Attrs& attrs);

SymShape result_strides(const Attrs& attrs, const SymShape& shape);
// The tensor, or a copy that lies so. A dimension of one element may have any stride.
Tensor in_memory_order(const Attrs& attrs, const Tensor& tensor);
Tensor empty_result(const Attrs& attrs, const TensorType& type);

}  // namespace weft::ops
