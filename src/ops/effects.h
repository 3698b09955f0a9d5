// Operators that change what an operand holds, or that draw from a generator of random numbers. All others
// are functions of their operands' contents, and may be dropped, merged and moved freely.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ops/registry.h"

namespace weft::ops {

// Says, beside an operator's registration, which of its operands it writes.
void declare_writes(const OpDef& op, std::vector<size_t> operands);
// Positions of the operands that it writes; mostly none.
std::span<const size_t> written_operands(const OpDef& op);
// Says that its results depend on the calls before, and those after on it: it keeps its place among all such,
// and is called where nobody takes the result.
void declare_draws(const OpDef& op);
bool draws(const OpDef& op);
inline bool has_side_effects(const OpDef& op) { return !written_operands(op).empty() || draws(op); }
// What raises for some values is computed even where nobody takes the result: NumPy raises there.
inline bool refuses_by_value(const OpDef& op) {
  for (const std::string_view name : {"require", "inv", "solve", "cholesky", "gather", "gather_nd", "scatter",
                                      "scatter_nd", "index_put", "embedding"})
    if (op.name == name) return true;
  return false;
}

}  // namespace weft::ops
