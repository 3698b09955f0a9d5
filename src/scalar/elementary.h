// weft's own elementary functions: templates without branches per lane over vectors of any width
// (scalar/elementary/*.inc), which generated kernels include as text and elementary.cc compiles for one
// number at a time. The same operations in the same order: the same bits.
#pragma once

#include <set>
#include <string>

#include "scalar/expr.h"

namespace weft::scalar {

// Is `prim`, on F32 and F64, a function `elementary::NAME` of generated code?
bool is_elementary(Prim prim);
// The text that defines those of `prims`, for generated code; "" where none of them is elementary.
std::string elementary_source(const std::set<Prim>& prims);
// Every text there is, in order.
std::string all_elementary_sources();

}  // namespace weft::scalar
