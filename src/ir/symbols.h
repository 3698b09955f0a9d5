// Symbolic integers across graphs: translation into another environment, and evaluation.
#pragma once

#include <functional>
#include <vector>

#include "ops/attrs.h"
#include "weft/sym.h"
#include "weft/tensor.h"

namespace weft::ir {

// Rebuilds the expression with every symbol replaced.
using SymbolMap = std::function<Sym(int symbol)>;
Sym substitute(Sym expression, const SymbolMap& map);
SymShape substitute(const SymShape& shape, const SymbolMap& map);
ops::Attrs substitute(const ops::Attrs& attrs, const SymbolMap& map);
ops::TensorType substitute(const ops::TensorType& type, const SymbolMap& map);

// With every symbol replaced by its value.
ops::Attrs evaluate(const ops::Attrs& attrs, const std::vector<int64_t>& symbols);
Shape evaluate(const SymShape& shape, const std::vector<int64_t>& symbols);

// Equal for every assignment of the symbols.
bool same_type(const ops::TensorType& a, const ops::TensorType& b);
bool same_shape(const SymShape& a, const SymShape& b);
bool same_attr(const ops::Attr& a, const ops::Attr& b);
bool is_constant(const SymShape& shape);

}  // namespace weft::ir
