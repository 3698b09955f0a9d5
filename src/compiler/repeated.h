// What a kernel would compute again and again where it is used, so that it is better stored.
#pragma once

#include <string>

#include "nest/walk.h"

namespace weft::compiler {

// Why a reduction cannot be evaluated where it is met; "" if it can.
std::string repeats(const nest::Visit& visit, const nest::IndexSpace& space, size_t num_outer);
// Is a division, a root or a function computed for every element, again for each position of an outer loop?
bool is_repeated(const nest::Visit& visit, const nest::IndexSpace& space);
// Can a loop read what is turned in few pieces?
bool is_in_order(const nest::Visit& rotation, const nest::IndexSpace& space);

}  // namespace weft::compiler
