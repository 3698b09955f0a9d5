// The operator table's operations in native loops.
#pragma once

#include "capture/loops/builder.h"
#include "ops/registry.h"

namespace weft::capture {

// As an operand by which operators choose their types.
ops::Operand operand_type(const LoopValue& value);
ops::Attrs default_attributes(const ops::OpDef& op);
std::string literal(const Scalar& value, DType dtype);
// What a node computes of its operands. `function`: what to call it in the code.
Expr applied(const scalar::ExprNode& node, const std::vector<Expr>& args, std::set<scalar::Prim>& elementary,
             const std::function<Expr(const LibraryFunction&)>& function);

}  // namespace weft::capture
