// Helpers for operators written over other operators.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "ops/registry.h"

namespace weft::ops {

// Pointwise operators on operands of any dtype, promoted by the rules of the enclosing call.
struct Compose {
  Promotion rules;
  Tensor operator()(std::string_view op, std::initializer_list<Operand> operands,
                    const Attrs& attrs = {}) const {
    return invoke(get_op(op), std::span<const Operand>(operands.begin(), operands.size()), attrs, rules);
  }
};

Tensor cast_to(const Tensor& x, DType dtype);
// A size as an operand: a weak Python integer where it is known, a 0-d int64 tensor of the graph where it is
// not.
Operand size_operand(const Sym& size);

// A body that reads elements of its operands: those that the process cannot read are copied to the host, and
// the results are moved to where they were, unless the device has a form of the operator.
CompositeFn on_host(CompositeFn body);

// `promotes`: operands may be scalars and of different dtypes, as those of a pointwise operator.
const OpDef& composite(std::string name, std::string schema, std::string doc, std::string numpy,
                       CompositeFn body, std::vector<std::string> aliases = {}, bool promotes = false);

}  // namespace weft::ops
