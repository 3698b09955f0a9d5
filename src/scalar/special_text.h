// Text of special functions, for devices that cannot call the process's (scalar/special/*.inc), which
// special.cc compiles, too: the same operations in the same order, the same bits. Of one number at a time.
#pragma once

#include <set>
#include <string>

#include "scalar/expr.h"

namespace weft::scalar {

// Is `prim`, on F32 and F64 (Gcd: on integers), a function `special::NAME` of that text?
bool has_special_text(Prim prim);
// The text that defines those of `prims`, behind what it needs of elementary_source, which comes with it.
std::string special_source(const std::set<Prim>& prims);

}  // namespace weft::scalar
