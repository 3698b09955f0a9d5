// Pointwise operators that write into a tensor there is.
#pragma once

#include <span>
#include <vector>

#include "ops/registry.h"

namespace weft::ops {

// `invoke` of a pointwise operator, or of a composite that is one, written into `target` without a tensor in
// between; false where that cannot be, and nothing has happened.
bool invoke_into(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, Promotion rules,
                 const Tensor& target);

// What a composite calls that is one pointwise operator here and now: clip of floating numbers or with one
// bound, nan_to_num, sign, a quotient. Without an operator for any other.
struct PointwiseCall {
  const OpDef* op = nullptr;
  std::vector<Operand> operands;
  Attrs attrs = {};
};
PointwiseCall pointwise_call(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                             Promotion rules);

// A strict call. Operands may be `target`, but no other views of its memory; false where they are, where the
// result has another dtype or shape, or where rows are short.
bool run_pointwise_into(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs,
                        const Tensor& target);

}  // namespace weft::ops
